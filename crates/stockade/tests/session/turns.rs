//! Listed commands run without walls while nothing else of the session is at work.

use crate::support::{World, sh};
use std::fs;
use std::path::Path;
use std::time::Duration;
use stockade::{Event, Session, SessionCommand, Wiring};

const LISTED: &str = r#"{"excludedCommands": ["cat:*", "sleep:*"]}"#;

/// A session whose listed commands can read what others cannot.
async fn opened(world: &World) -> (Session, String) {
    let settings = world.at("home/.config/stockade/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(settings, LISTED).unwrap();
    fs::write(world.at("home/work/file"), "here").unwrap();
    (world.open().await, "cat file".to_owned())
}

async fn is_walled(session: &Session, text: &str) -> bool {
    let ran = sh(session, text).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.captured.outcome.sandboxed
}

#[tokio::test]
async fn beside_a_background_command_walls_are_kept() {
    let world = World::new();
    let (session, listed) = opened(&world).await;
    assert!(!is_walled(&session, &listed).await);
    let id = session.background("while :; do sleep 1; done").await.unwrap();
    assert!(is_walled(&session, &listed).await);
    let beside = session.exec_argv(["cat", "file"], Wiring::captured()).await.unwrap();
    assert!(beside.wait().await.unwrap().sandboxed);
    session.kill_background(id, 9).unwrap();
    session.wait_background(id).await.unwrap();
    assert!(!is_walled(&session, &listed).await);
    let beside = session.exec_argv(["cat", "file"], Wiring::captured()).await.unwrap();
    assert!(!beside.wait().await.unwrap().sandboxed);
}

#[tokio::test]
async fn beside_what_a_command_left_walls_are_kept() {
    let world = World::new();
    let (session, listed) = opened(&world).await;
    for left in [
        "/bin/sleep 60 & echo $! > pid",
        "setsid sh -c 'echo $$ > pid; exec /bin/sleep 60' & builtin disown; while [ ! -s pid ]; do :; done",
        "( ( while :; do read -t 1 < /dev/zero; done ) & echo $! > pid )",
    ] {
        sh(&session, left).await;
        assert!(is_walled(&session, &listed).await, "{left}");
        sh(&session, "kill -9 $(cat pid); while [ -d /proc/$(cat pid) ]; do wait; done; rm pid").await;
        assert!(!is_walled(&session, &listed).await, "{left}");
    }
}

/// It goes on beside whatever comes next.
#[tokio::test]
async fn in_the_background_walls_are_kept() {
    let world = World::new();
    let (session, listed) = opened(&world).await;
    let id = session.background(listed.as_str()).await.unwrap();
    let over = session.wait_background(id).await.unwrap();
    assert_eq!(over.chunks[0].data, b"here");
    assert!(over.outcome.unwrap().sandboxed);
    assert!(!is_walled(&session, &listed).await);
}

/// Whether a shell in this directory is stopped.
fn is_stopped(directory: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut shells = processes.filter(|process| {
        let is_there = fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == directory);
        let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        is_there && ["bash\n", "sh\n", "dash\n"].contains(&name.as_str())
    });
    let stat = |path: &Path| fs::read_to_string(path.join("stat")).unwrap_or_default();
    shells.any(|shell| stat(&shell.path()).rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" t")))
}

#[tokio::test]
async fn meanwhile_nothing_behind_walls_runs() {
    let world = World::new();
    let (session, listed) = opened(&world).await;
    let place = world.at("home/work").canonicalize().unwrap();
    assert!(!is_stopped(&place));
    let mut bare = session.start(SessionCommand::new("sleep 60")).await.unwrap();
    assert!(matches!(bare.next().await, Some(Event::Notice(_))));
    // The shell neither: a command may have left a trap in it.
    assert!(is_stopped(&place));
    let short = Duration::from_millis(300);
    let background = session.background("echo late > made");
    assert!(tokio::time::timeout(short, background).await.is_err());
    let beside = session.exec_argv(["touch", "made"], Wiring::captured());
    assert!(tokio::time::timeout(short, beside).await.is_err());
    assert!(tokio::time::timeout(short, session.run("touch made")).await.is_err());
    assert!(!place.join("made").exists());
    bare.cancel(15);
    while bare.next().await.is_some() {}
    assert!(!is_stopped(&place));
    assert_eq!(sh(&session, "echo on").await.stdout, "on\n");
    let id = session.background("echo late > made").await.unwrap();
    session.wait_background(id).await.unwrap();
    assert!(place.join("made").exists());
    assert!(!is_walled(&session, &listed).await);
}

/// The session ends without it.
#[tokio::test]
async fn a_session_closes_beside_one_without_walls() {
    let world = World::new();
    let (session, _) = opened(&world).await;
    let mut bare = session.start(SessionCommand::new("sleep 60")).await.unwrap();
    tokio::time::timeout(Duration::from_secs(20), session.close()).await.unwrap();
    bare.cancel(15);
    while bare.next().await.is_some() {}
    assert!(session.run("true").await.is_err());
}

#[tokio::test]
async fn another_sandbox_in_the_same_place_keeps_the_walls() {
    let world = World::new();
    let (session, listed) = opened(&world).await;
    let other = world.open().await;
    assert!(is_walled(&session, &listed).await);
    assert!(is_walled(&other, &listed).await);
    other.close().await;
    drop(other);
    assert!(!is_walled(&session, &listed).await);
}
