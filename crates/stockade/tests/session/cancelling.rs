//! The end of one command that is not the end of its shell.

use crate::support::{Ran, World, run, sh};
use std::time::{Duration, Instant};
use stockade::{Exit, Session, SessionCommand};

/// Texts of which nothing may be run once they wait.
const TEXTS: [&str; 15] = [
    "sleep 100; echo rest",
    "sleep 100\necho rest\necho rest",
    "while :; do :; done; echo rest",
    "for i in 1 2 3; do sleep 100; echo rest; done",
    "f() { sleep 100; echo rest; }; g() { while :; do f; echo rest; done; echo rest; }; until g; do echo rest; done",
    "sleep 100 | cat; echo rest",
    "x=$(sleep 100); echo rest",
    "sleep 100 & wait; echo rest",
    "(sleep 100; echo rest); (echo rest); echo rest | cat",
    "eval 'sleep 100; echo rest'; eval 'echo rest'",
    "sleep 100 || echo rest; ! echo rest; if echo rest; then echo rest; fi; case x in x) echo rest ;; esac",
    "set -ET; sleep 100; [[ x ]] && echo rest; for i in $(echo rest >&2); do echo rest; done",
    "trap 'true' DEBUG; sleep 100; echo rest",
    "printf 'sleep 100\\necho rest\\n' > script; . ./script; echo rest",
    // Lasts.
    "trap '' INT TERM; sleep 100; echo rest",
];

async fn prepare(session: &Session) {
    sh(session, "mine=kept; f1() { echo function; }; cd sub").await;
}

async fn is_the_same(session: &Session, ran: &Ran, text: &str) {
    assert_eq!((ran.stdout.as_str(), ran.restarted()), ("", None), "{text}: {}", ran.stderr);
    let ran = sh(session, "echo $mine; f1; pgrep -f '^sleep 100$'; shopt -q extdebug && echo extdebug").await;
    assert_eq!((ran.stdout.as_str(), ran.restarted()), ("kept\nfunction\n", None), "after {text}");
    assert_eq!(sh(session, "for i in 1 2; do (exit 3); done").await.code, 3, "after {text}");
}

#[tokio::test]
async fn a_shell_survives_the_time_limits_of_its_commands() {
    let world = World::new();
    let session = world.open().await;
    prepare(&session).await;
    for text in TEXTS {
        let begun = Instant::now();
        let ran = run(&session, SessionCommand::new(text).time_limit(Duration::from_millis(200))).await;
        assert_eq!(ran.captured.outcome.exit, Exit::TimedOut, "{text}");
        assert!(begun.elapsed() < Duration::from_secs(3), "{text} {:?}", begun.elapsed());
        is_the_same(&session, &ran, text).await;
    }
}

#[tokio::test]
async fn a_shell_survives_cancelled_commands() {
    let world = World::new();
    for signal in [2, 15] {
        let session = world.open().await;
        prepare(&session).await;
        for text in TEXTS {
            let ran = cancelled(&session, text, signal).await;
            assert_eq!(ran.captured.outcome.exit, Exit::Cancelled { signal }, "{text}");
            is_the_same(&session, &ran, text).await;
        }
    }
}

async fn cancelled(session: &Session, text: &str, signal: i32) -> Ran {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let cancel = async {
        let canceller: stockade::Canceller = receiver.await.unwrap();
        tokio::time::sleep(Duration::from_millis(150)).await;
        canceller.cancel(signal);
    };
    let running = crate::support::run_and(session, SessionCommand::new(text), |run| {
        let _ = sender.send(run.canceller());
    });
    tokio::join!(running, cancel).0
}

#[tokio::test]
async fn a_cancel_that_comes_at_any_moment() {
    let world = World::new();
    let session = world.open().await;
    prepare(&session).await;
    for moment in 0..40 {
        let limit = Duration::from_micros(moment * 150);
        let command = SessionCommand::new("/bin/true; sleep 0.001; echo no; sleep 100").time_limit(limit);
        let ran = run(&session, command).await;
        assert_eq!((ran.captured.outcome.exit, ran.restarted()), (Exit::TimedOut, None), "{moment}");
        let ran = sh(&session, "echo $mine").await;
        assert_eq!((ran.stdout.as_str(), ran.code), ("kept\n", 0), "{moment}");
    }
}

#[tokio::test]
async fn a_shell_that_does_not_listen_is_ended() {
    let world = World::new();
    let session = world.open().await;
    sh(&session, "mkfifo pipe").await;
    for text in [
        "export A=1; trap '' URG; while :; do :; done; echo rest",
        "export A=1; read x <> pipe; echo rest",
        "export A=1; set -e; sleep 100; echo rest",
        "export A=1; unset _sk; sleep 100; while :; do :; done",
    ] {
        let begun = Instant::now();
        let ran = run(&session, SessionCommand::new(text).time_limit(Duration::from_millis(500))).await;
        assert_eq!((ran.captured.outcome.exit, ran.stdout.as_str()), (Exit::TimedOut, ""), "{text}");
        assert!(ran.restarted().is_some(), "{text}");
        assert!(begun.elapsed() < Duration::from_secs(3), "{text} {:?}", begun.elapsed());
        assert_eq!(sh(&session, "echo $A; unset A").await.stdout, "1\n", "{text}");
    }
}
