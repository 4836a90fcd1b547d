//! Who runs a command: the shell, nobody, the embedder, or a process without walls.

use crate::support::{World, run, sh};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use stockade::{
    CommandLine, Event, Exit, PrepareError, Request, Routed, Runtime, Session, SessionCommand, SessionError,
    SessionInput, SessionOptions, Taken, WITHOUT_WALLS, Wiring,
};

/// A session under these settings of its user.
async fn under(world: &World, settings: &str) -> Session {
    let path = world.at("home/.config/stockade/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, settings).unwrap();
    world.open().await
}

fn is_refused<T>(result: Result<T, SessionError>) -> bool {
    matches!(result, Err(SessionError::Prepare(PrepareError::Refused { .. })))
}

#[tokio::test]
async fn what_is_denied_does_not_start() {
    let world = World::new();
    let session =
        under(&world, r#"{"commands": {"deny": [{"program": "touch", "reason": "no touching"}]}}"#).await;
    sh(&session, "x=1; cd sub").await;
    for text in ["touch a", "true && touch a", "sudo touch a"] {
        let refused = session.run(text).await;
        assert!(refused.as_ref().is_err_and(|error| error.to_string().contains("no touching")), "{text}");
        assert!(is_refused(refused), "{text}");
        assert!(is_refused(session.background(text).await), "{text}");
    }
    assert!(is_refused(session.exec_argv(["touch", "a"], Wiring::captured()).await.map(drop)));
    assert!(session.list_background().is_empty());
    let ran = sh(&session, "echo $x; ls").await;
    assert_eq!((ran.stdout.as_str(), ran.restarted()), ("1\n", None));
}

#[tokio::test]
async fn what_is_excluded_runs_without_walls() {
    let world = World::new();
    fs::write(world.at("run/outside"), "seen").unwrap();
    let session = under(&world, r#"{"excludedCommands": ["cat:*", "printenv", "sleep:*"]}"#).await;
    let outside = format!("cat {}", world.at("run/outside").display());
    sh(&session, "cd sub; echo here > file; export MINE=1; x=1").await;
    let ran = sh(&session, &outside).await;
    assert_eq!((ran.stdout.as_str(), ran.code), ("seen", 0), "{}", ran.stderr);
    assert!(!ran.captured.outcome.sandboxed);
    assert_eq!(ran.captured.outcome.kind, "none");
    // Before anything else.
    let warned = matches!(&ran.events[0], Event::Notice(notice) if notice.text.starts_with(WITHOUT_WALLS));
    assert!(warned, "{:?}", ran.events);
    // Where the shell is, but without what was exported inside.
    assert_eq!(sh(&session, "cat file").await.stdout, "here\n");
    tokio::time::sleep(Duration::from_millis(300)).await;
    let ran = sh(&session, "printenv").await;
    assert!(!ran.captured.outcome.sandboxed && !ran.stdout.contains("MINE"), "{}", ran.stdout);
    // The rest stays inside, and what is not only excluded, too.
    let ran = sh(&session, &format!("echo $x; {outside}")).await;
    assert_eq!(ran.stdout, "1\nseen");
    assert!(ran.captured.outcome.sandboxed);
    // It would go on beside others.
    let id = session.background(outside.as_str()).await.unwrap();
    let over = session.wait_background(id).await.unwrap();
    assert_eq!(over.chunks[0].data, b"seen");
    assert!(over.outcome.unwrap().sandboxed && over.notices.is_empty());
    let path = world.at("run/outside");
    let beside = session.exec_argv(["cat".as_ref(), path.as_os_str()], Wiring::captured()).await;
    let first = beside.unwrap().next().await;
    let warned = matches!(&first, Some(Event::Notice(notice)) if notice.text.starts_with(WITHOUT_WALLS));
    assert!(warned, "{first:?}");
    // Its limits and its input are its own.
    let slow = SessionCommand::new("sleep 100").time_limit(Duration::from_millis(200));
    let begun = Instant::now();
    assert_eq!(run(&session, slow).await.captured.outcome.exit, Exit::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(5));
    let done = session.capture(SessionCommand::new("cat").input(SessionInput::Piped)).await.unwrap();
    assert_eq!(done.outcome.exit_code, 0);
    session.close().await;
    assert!(matches!(session.run(outside.as_str()).await, Err(SessionError::Closed)));
}

/// Takes what begins with a slash: says where, or waits for ever.
fn router(asked: Arc<AtomicUsize>) -> impl Fn(&Request) -> Routed + Send + Sync {
    move |request| {
        asked.fetch_add(1, Ordering::Relaxed);
        let CommandLine::Shell(text) = &request.command else { return Routed::Native };
        let cwd = request.cwd.display().to_string();
        match text.to_str() {
            Some("/where") => {
                Routed::taken(
                    async move { Taken { stdout: cwd.into_bytes(), stderr: b"e".to_vec(), code: 3 } },
                )
            }
            Some("/wait") => Routed::taken(std::future::pending()),
            _ => Routed::Native,
        }
    }
}

async fn routed(world: &World, asked: &Arc<AtomicUsize>) -> Session {
    let runtime: Runtime = world.builder().router(router(Arc::clone(asked))).build().unwrap();
    Session::open(Arc::new(runtime), SessionOptions::default()).await.unwrap()
}

#[tokio::test]
async fn the_embedder_takes_its_own() {
    let world = World::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let session = routed(&world, &asked).await;
    let ran = sh(&session, "cd sub; echo native").await;
    assert_eq!(ran.stdout, "native\n");
    assert!(ran.captured.outcome.sandboxed);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let ran = sh(&session, "/where").await;
    let sub = world.at("home/work/sub").display().to_string();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.code), (sub.as_str(), "e", 3));
    assert_eq!((ran.captured.outcome.kind.as_str(), ran.captured.outcome.sandboxed), ("router", false));
    let id = session.background("/where").await.unwrap();
    let over = session.wait_background(id).await.unwrap();
    assert_eq!((over.chunks[0].data.as_slice(), over.outcome.unwrap().exit_code), (sub.as_bytes(), 3));
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn the_embedder_is_not_waited_for_longer_than_wanted() {
    let world = World::new();
    let session = routed(&world, &Arc::default()).await;
    let slow = SessionCommand::new("/wait").time_limit(Duration::from_millis(100));
    assert_eq!(run(&session, slow).await.captured.outcome.exit, Exit::TimedOut);
    let mut running = session.start(SessionCommand::new("/wait")).await.unwrap();
    // It keeps nobody from the shell.
    assert_eq!(sh(&session, "echo meanwhile").await.stdout, "meanwhile\n");
    running.cancel(2);
    let Some(Event::Exited(outcome)) = running.next().await else { panic!("no end was told") };
    assert_eq!(outcome.exit, Exit::Cancelled { signal: 2 });
    assert!(running.next().await.is_none());
    let id = session.background("/wait").await.unwrap();
    session.kill_background(id, 15).unwrap();
    let over = session.wait_background(id).await.unwrap();
    assert_eq!(over.outcome.unwrap().exit, Exit::Cancelled { signal: 15 });
}
