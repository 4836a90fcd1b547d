//! What is told, to whom, and how often.

use crate::support::{World, run, sh};
use std::fs;
use std::time::{Duration, Instant};
use stockade::{Event, Session, SessionCommand, Wiring};

/// Gives a command to the session, to wait behind those that were given before.
fn ask(session: &Session, text: &'static str) -> tokio::task::JoinHandle<crate::support::Ran> {
    let session = session.clone();
    tokio::spawn(async move { sh(&session, text).await })
}

#[tokio::test]
async fn whoever_waited_for_a_shell_that_ended_is_told() {
    let world = World::new();
    let session = world.open().await;
    for ending in ["sleep 0.5; exit 3", "sleep 0.5; kill -9 $$"] {
        let first = ask(&session, ending);
        tokio::time::sleep(Duration::from_millis(200)).await;
        let waiting = [ask(&session, "echo a"), ask(&session, "echo b")];
        let why = first.await.unwrap().restarted().map(str::to_owned);
        assert!(why.is_some(), "{ending}");
        // Asked after somebody was told.
        let later = sh(&session, "echo c").await;
        assert_eq!(later.restarted(), None, "{ending}");
        for ran in waiting {
            let ran = ran.await.unwrap();
            assert_eq!((ran.code, ran.restarted()), (0, why.as_deref()), "{ending}");
            let told = ran.events.iter().filter(|event| matches!(event, Event::Restarted { .. })).count();
            assert_eq!(told, 1, "{ending}");
        }
    }
}

#[tokio::test]
async fn what_the_one_who_left_would_have_heard_is_told_to_the_next() {
    let world = World::new();
    let session = world.open().await;
    drop(session.start(SessionCommand::new("exec sleep 100")).await.unwrap());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(sh(&session, "true").await.restarted().is_some());
    assert_eq!(sh(&session, "true").await.restarted(), None);
}

fn rejected(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::SettingsRejected { .. })).count()
}

#[tokio::test]
async fn a_broken_edit_of_the_settings_is_told_once() {
    let world = World::new();
    let path = world.at("home/.config/stockade/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{}").unwrap();
    let session = world.open().await;
    sh(&session, "true").await;
    for _ in 0..2 {
        fs::write(&path, "{broken").unwrap();
        // Found when nothing runs.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let ran = sh(&session, "true").await;
        assert_eq!(rejected(&ran.events), 1, "{:?}", ran.events);
        assert_eq!(rejected(&sh(&session, "true").await.events), 0);
        fs::write(&path, "{ }").unwrap();
        tokio::time::sleep(Duration::from_secs(3)).await;
        let ran = sh(&session, "true").await;
        let mended =
            |event: &Event| matches!(event, Event::SettingsReloaded { mended, .. } if !mended.is_empty());
        assert_eq!(ran.events.iter().filter(|event| mended(event)).count(), 1, "{:?}", ran.events);
    }
    // A program beside the shell is told, too, and the next one in the shell is not then.
    fs::write(&path, "{broken").unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut running = session.exec_argv(["true"], Wiring::captured()).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = running.next().await {
        events.push(event);
    }
    assert_eq!(rejected(&events), 1, "{events:?}");
    assert_eq!(rejected(&sh(&session, "true").await.events), 0);
}

#[tokio::test]
async fn an_order_that_somebody_else_takes_is_missed() {
    let world = World::new();
    let session = world.open().await;
    let mut missed = 0;
    for pause in [0, 300, 0, 300] {
        let find = "for fd in {40..60}; do [[ -S /proc/self/fd/$fd ]] && break; done";
        sh(&session, &format!("{find}; (timeout 20 cat <&$fd >/dev/null) & sleep 0.2")).await;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let begun = Instant::now();
        let ran = run(&session, SessionCommand::new("echo here")).await;
        assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
        let why = ran.restarted().unwrap_or_default();
        // A shell that was found out before the command came was replaced in time, and one may be quicker than
        // who waits beside it.
        let is_said = why.contains("the command was not run") || why.contains("may not have been run");
        assert!(is_said == ran.stdout.is_empty(), "{why}: {:?}", ran.captured);
        missed += u32::from(!why.is_empty());
        // Who waits beside a shell that was not replaced still does.
        let mut again = 0;
        while sh(&session, "echo here").await.stdout != "here\n" {
            again += 1;
            assert!(again < 3);
        }
    }
    assert!(missed > 0);
}

#[tokio::test]
async fn what_a_command_says_by_itself_does_not_hide_its_end() {
    let world = World::new();
    let session = world.open().await;
    let find = "for fd in {40..60}; do [[ -S /proc/self/fd/$fd ]] && break; done";
    for word in ["0\\n", "E", "Edeclare -a _sk=", "H\\0S", "X"] {
        let ran = sh(&session, &format!("{find}; echo seen; printf '{word}' >&$fd; (exit 3)")).await;
        assert_eq!((ran.stdout.as_str(), ran.code, ran.restarted()), ("seen\n", 3, None), "{word}");
    }
}

#[tokio::test]
async fn a_command_whose_end_is_not_heard_is_not_called_one_that_was_not_run() {
    let world = World::new();
    let session = world.open().await;
    for text in ["echo seen; enable -n printf eval read builtin exec", "echo seen; enable -n builtin"] {
        let ran = run(&session, SessionCommand::new(text)).await;
        let why = ran.restarted().unwrap_or_default();
        assert!(why.contains("the command was run"), "{text}: {why}");
        assert_eq!(ran.stdout, "seen\n");
        assert_eq!(sh(&session, "echo here").await.stdout, "here\n");
    }
}
