//! Sandboxes that end and come back, background commands, and what is left of sessions.

use crate::support::{World, sh};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade::{BackgroundState, Exit, Flags, Session, SessionError, SessionOptions, WindowSize, Wiring};

/// Every process whose working directory is below the world's.
fn kill_init(world: &World) {
    // The shells and everything else inside; the first process shows no files of its own.
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let inside =
            fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(world.at("home/work")));
        if inside {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

#[tokio::test]
async fn a_shell_that_is_killed_from_outside_comes_back() {
    let world = World::new();
    let session = world.open().await;
    sh(&session, "cd sub").await;
    kill_init(&world);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let begun = Instant::now();
    let ran = sh(&session, "pwd").await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(ran.stdout, format!("{}\n", world.at("home/work/sub").display()));
    assert!(ran.restarted().is_some());
}

#[tokio::test]
async fn a_rebuilt_session_keeps_what_it_may() {
    let world = World::new();
    let outside = world.at("outside");
    fs::create_dir(&outside).unwrap();
    let session = world.open().await;
    let touch = format!("touch {}/x", outside.display());
    sh(&session, "cd sub; export KEPT='it'\\''s kept'; PATH=$PATH:/mine; unset HOME").await;
    let ran = sh(&session, &touch).await;
    assert_ne!(ran.code, 0);
    let flags = Flags { allow_write: vec![outside.display().to_string()], ..Flags::default() };
    let begun = Instant::now();
    session.rebuild(Arc::new(world.builder().flags(flags).build().unwrap())).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2));
    let ran = sh(&session, &format!("{touch} && echo \"$KEPT\"; pwd; echo $PATH")).await;
    let sub = world.at("home/work/sub");
    assert_eq!(ran.stdout, format!("it's kept\n{}\n/usr/local/bin:/usr/bin:/bin:/mine\n", sub.display()));
}

#[tokio::test]
async fn a_directory_that_is_gone_is_left() {
    let world = World::new();
    let session = world.open().await;
    sh(&session, "mkdir d; cd d").await;
    fs::remove_dir(world.at("home/work/d")).unwrap();
    sh(&session, "exit 0").await;
    let ran = sh(&session, "pwd").await;
    assert_eq!(ran.stdout, format!("{}\n", world.at("home/work").display()));
}

#[tokio::test]
async fn background_commands_go_on_and_keep_their_last_words() {
    let world = World::new();
    let session = world.open().await;
    sh(&session, "cd sub; export A=7").await;
    let id = session.background("echo $A; pwd; echo err >&2; sleep 0.3; echo done; exit 3").await.unwrap();
    let forever = session.background("sleep 1000").await.unwrap();
    assert_eq!(sh(&session, "echo meanwhile").await.stdout, "meanwhile\n");
    let over = session.wait_background(id).await.unwrap();
    assert_eq!(over.outcome.unwrap().exit_code, 3);
    let text: Vec<u8> = over.chunks.iter().flat_map(|chunk| chunk.data.clone()).collect();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("7\n") && text.contains("/sub\n") && text.contains("err\n"), "{text}");
    let rest = session.poll(id, over.next_seq).unwrap();
    assert!(rest.chunks.is_empty() && rest.state == BackgroundState::Over);
    assert_eq!(session.list_background().len(), 2);
    session.kill_background(forever, 15).unwrap();
    let killed = session.wait_background(forever).await.unwrap();
    assert_eq!(killed.outcome.unwrap().exit, Exit::Cancelled { signal: 15 });
    // Ending one leaves the others and the shell.
    assert_eq!(sh(&session, "echo $A").await.stdout, "7\n");
    assert!(matches!(session.poll(stockade::BackgroundId(99), 0), Err(SessionError::Unknown { id: 99 })));
}

#[tokio::test]
async fn programs_run_beside_the_shell() {
    let world = World::new();
    let session = world.open().await;
    sh(&session, "cd sub; x=1").await;
    let running = session.exec_argv(["sh", "-c", "exit 5"], Wiring::captured()).await.unwrap();
    assert_eq!(running.wait().await.unwrap().exit_code, 5);
    let running = session.exec_argv(["/no/such/program"], Wiring::captured()).await.unwrap();
    assert_eq!(running.wait().await.unwrap().exit_code, 127);
    // One that has to be killed takes nobody along.
    let running =
        session.exec_argv(["sh", "-c", "trap '' TERM; sleep 100"], Wiring::captured()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    running.cancel(15);
    assert_eq!(running.wait().await.unwrap().exit, Exit::Cancelled { signal: 15 });
    let ran = sh(&session, "echo $x").await;
    assert_eq!((ran.stdout.as_str(), ran.restarted()), ("1\n", None));
}

#[tokio::test]
async fn a_terminal_in_the_same_sandbox() {
    let world = World::new();
    let session = world.open().await;
    let mut running = session.terminal(WindowSize { rows: 24, columns: 80 }).await.unwrap();
    let terminal = running.terminal().unwrap();
    rustix::io::write(&terminal, b"echo rows $(stty size); exit 4\n").unwrap();
    assert_eq!(running.wait().await.unwrap().exit_code, 4);
    let mut seen = vec![0; 4096];
    let length = rustix::io::read(&terminal, &mut seen).unwrap();
    assert!(String::from_utf8_lossy(&seen[..length]).contains("rows 24 80"));
}

#[tokio::test]
async fn refusals_belong_to_their_command() {
    let world = World::new();
    fs::write(world.at("home/work/.env"), "secret").unwrap();
    let session = world.open().await;
    assert!(sh(&session, "true").await.captured.outcome.violations.is_empty());
    let ran =
        sh(&session, "touch /etc/stockade-test; mkdir -p .git/hooks 2>/dev/null; echo x > /usr/y; false")
            .await;
    let subjects: Vec<_> = ran.captured.outcome.violations.iter().map(|one| one.subject.as_str()).collect();
    assert!(subjects.contains(&"/usr/y"), "{subjects:?}");
    assert!(ran.captured.outcome.blocked);
    assert!(ran.captured.outcome.violations[0].command.starts_with("touch "));
    let ran = sh(&session, "false").await;
    assert!(ran.captured.outcome.violations.is_empty() && !ran.captured.outcome.blocked);
}

#[tokio::test]
async fn sessions_end_when_nobody_uses_them() {
    let world = World::new();
    let options = SessionOptions { idle: Some(Duration::from_millis(300)), ..SessionOptions::default() };
    let session = world.open_with(options).await;
    assert_eq!(sh(&session, "sleep 0.6; echo used").await.stdout, "used\n");
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert!(matches!(session.run("true").await, Err(SessionError::Closed)));
    assert!(world.left().is_empty());
    let session = world.open().await;
    drop(session);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(world.left().is_empty());
}

#[tokio::test]
async fn what_a_killed_session_left_is_swept() {
    let world = World::new();
    let session = world.open().await;
    let shells = world.at("run/stockade/shells");
    // Without the lock its owner would hold.
    fs::create_dir(shells.join("sdead")).unwrap();
    fs::write(shells.join("sdead/x"), "").unwrap();
    fs::write(shells.join("sdead.lock"), "").unwrap();
    let private = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(path).unwrap().permissions().mode() & 0o077
    };
    assert_eq!(private(&shells), 0);
    let other = world.open().await;
    assert!(!shells.join("sdead").exists() && !shells.join("sdead.lock").exists());
    // The one that lives is left alone.
    assert_eq!(sh(&session, "echo here").await.stdout, "here\n");
    assert_eq!(sh(&other, "echo there").await.stdout, "there\n");
    drop((session, other));
}

#[tokio::test]
async fn nobody_inside_finds_the_pipes() {
    let world = World::new();
    let session = world.open().await;
    let ran = sh(&session, "ls /dev/stockade; touch /dev/stockade/x; mkfifo /dev/stockade/y; chmod 700 /dev/stockade; rm -rf /dev/stockade/*; ls -d /dev/stockade").await;
    assert_eq!(ran.stdout, "/dev/stockade\n");
    assert!(ran.stderr.contains("ermission") || ran.stderr.contains("ead-only"), "{}", ran.stderr);
    assert_eq!(sh(&session, "echo here").await.stdout, "here\n");
    let ran = sh(&session, "ls -l /proc/self/fd | grep -c socket; sh -c 'ls /proc/self/fd' | wc -l").await;
    assert_eq!(ran.stdout, "0\n4\n");
}

#[tokio::test]
async fn sessions_wait_for_their_turn() {
    let world = World::new();
    let session = world.open().await;
    let mut tasks = Vec::new();
    for number in 0..20 {
        let session: Session = session.clone();
        tasks.push(tokio::spawn(async move {
            let ran = session.run(format!("a={number}; sleep 0.01; echo $a")).await.unwrap();
            assert_eq!(ran.stdout, format!("{number}\n").into_bytes());
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}
