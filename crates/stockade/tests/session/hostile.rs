//! What commands do to their shell, on purpose or not.

use crate::support::{World, run, sh};
use std::time::{Duration, Instant};
use stockade::{Event, Exit, SessionCommand};

/// What a shell that works answers.
async fn works(session: &stockade::Session) {
    let ran = sh(session, "echo \"works $((1 + 1))\"; echo e >&2").await;
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.code), ("works 2\n", "e\n", 0));
}

#[tokio::test]
async fn an_exit_is_an_exit_status_and_a_new_shell() {
    let world = World::new();
    let session = world.open().await;
    for (text, code) in [
        ("cd sub; export KEPT='a b'; f() { :; }; exit 3", 3),
        ("set -e; false; echo not reached", 1),
        ("exit", 0),
        ("trap 'echo bye' EXIT; exit 4", 4),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
        ("(exit 5); exit", 5),
        // Subshells hold whatever their shell held.
        ("(trap '' TERM; sleep 20; :) & exit 6", 6),
    ] {
        let ran = sh(&session, text).await;
        assert_eq!(ran.code, code, "{text}: {:?}", ran.captured);
        assert!(ran.restarted().is_some(), "{text}");
        assert!(!ran.stdout.contains("not reached"));
        works(&session).await;
    }
    let ran = sh(&session, "pwd; echo $KEPT; type f").await;
    assert_eq!(ran.stdout, format!("{}\na b\n", world.at("home/work/sub").display()));
    assert_eq!(ran.code, 1);
    assert_eq!(ran.restarted(), None);
}

#[tokio::test]
async fn commands_that_look_like_our_words() {
    let world = World::new();
    for text in [
        "printf 'E1 0 /\\0'; printf 'R1\\0H\\0X0 /\\n\\0' >&2",
        "for fd in {3..300}; do { printf 'E0 0 /\\0' >&$fd; } 2>/dev/null; done; true",
        "_sk=(9 echo /etc/passwd echo x); true",
        "_sk=9; true",
        "readonly _skB=x _skD=y _skT=z; true",
        "unset _sk; true",
        "(for fd in {3..300}; do { printf 'E0 0 /\\0' >&$fd; } 2>/dev/null; done); sleep 0.1",
        "read() { echo mine; }; eval() { echo mine; }; printf() { echo mine; }; command() { :; }",
        "declare() { echo mine; }; .() { :; }; readonly() { :; }; trap() { :; }; unset() { :; }; export() { :; }",
        "unset() { return 1; }; function shopt { :; }; function exec { :; }; function exit { :; }; function :  { false; }",
        "builtin() { echo mine; return 3; }",
        "alias builtin=false printf=false; shopt -s expand_aliases",
        "set -u; IFS=/; true",
        "IFS=0123456789abcdef; true",
        "set -f -C; shopt -s nullglob failglob; true",
        "trap 'echo debug' DEBUG; trap 'echo err' ERR; trap 'echo ret' RETURN; true",
        "PATH=; true",
        "BASH_ENV=/x; ENV=/x; PS4='$(echo boo)'; true",
        "set -x; true",
        "LC_ALL=C; TMOUT=1; true",
        "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; true",
        "exec 21>/dev/null 22>/dev/null 20</dev/null; true",
        "exec </dev/null >/dev/null 2>&1; true",
        "exec <&- >&- 2>&-; true",
        "set -o posix; true",
        "shopt -s inherit_errexit; ulimit -n 64; true",
        "cd /; true",
        "umask 777; true",
        "set --; shift 5; true",
    ] {
        let session = world.open().await;
        let ran = sh(&session, text).await;
        assert_eq!((ran.code, ran.restarted()), (0, None), "{text}: {:?}", ran.captured);
        let ran = sh(&session, "/bin/echo works; /bin/echo e >&2").await;
        let out = ran.stdout.lines().filter(|line| *line == "works").count();
        assert_eq!((out, ran.code, ran.restarted()), (1, 0, None), "after {text}: {:?}", ran.captured);
    }
}

#[tokio::test]
async fn broken_text_is_an_error_of_its_own() {
    let world = World::new();
    let session = world.open().await;
    let broken = [
        "echo \"",
        "echo '",
        "if",
        "for x in",
        "echo $(",
        "echo \"$(",
        "echo \"$(echo \"$(echo $(",
        "cat <(",
        "cat <<X\nabc",
        "}",
        ")",
        "fi",
        "echo ${",
        "((",
        "((1+",
        "echo $((",
        "a=(",
        "[[ a",
        "[[ -f",
        "case x in",
        "f() {",
        "echo `",
        "eval 'echo $('; true",
    ];
    sh(&session, "mine=kept").await;
    // What one leaves behind in the shell shows when others follow.
    for text in broken.iter().cycle().take(3 * broken.len()) {
        let ran = sh(&session, text).await;
        assert_eq!(ran.restarted(), None, "{text}");
        works(&session).await;
    }
    assert_eq!(sh(&session, "echo $mine; echo \"$(echo \"$(echo here)\")\"").await.stdout, "kept\nhere\n");
    let ran = sh(&session, "cat <<X\none\ntwo\nX").await;
    assert_eq!(ran.stdout, "one\ntwo\n");
    let ran = sh(&session, "break; continue; return 3; local x=1").await;
    assert_eq!(ran.restarted(), None);
    works(&session).await;
}

#[tokio::test]
async fn a_shell_that_gave_itself_away_is_replaced() {
    let world = World::new();
    let session = world.open().await;
    sh(&session, "cd sub; export A=1").await;
    let ran = sh(&session, "exec /bin/echo gone").await;
    assert_eq!((ran.stdout.as_str(), ran.code), ("gone\n", 0));
    assert!(ran.restarted().is_some());
    let ran = sh(&session, "exec sh -c 'sleep 0.2; echo later; exit 7'").await;
    assert_eq!((ran.stdout.as_str(), ran.code), ("later\n", 7));
    let ran = sh(&session, "for fd in {3..300}; do eval \"exec $fd>&-\"; done; echo closed").await;
    assert!(ran.stdout.contains("closed"), "{:?}", ran.captured);
    assert!(ran.restarted().is_some());
    works(&session).await;
    let ran = sh(&session, "(kill -9 $PPID); kill -9 $$; echo no").await;
    assert_eq!(ran.stdout, "");
    works(&session).await;
}

#[tokio::test]
async fn a_shell_that_reads_no_orders_is_replaced() {
    let world = World::new();
    let session = world.open().await;
    for text in ["set -n", "set -r"] {
        let begun = Instant::now();
        let ran = [sh(&session, text).await, sh(&session, "echo here").await];
        assert!(begun.elapsed() < Duration::from_secs(20), "{text}");
        assert!(ran.iter().any(|ran| ran.restarted().is_some()), "{text}");
        let whys: Vec<_> = ran.iter().filter_map(|ran| ran.restarted()).collect();
        let is_usual = |why: &&str| why.contains("given up") || why.contains("ended its shell");
        assert!(whys.iter().all(is_usual), "{text}: {whys:?}");
        works(&session).await;
    }
}

#[tokio::test]
async fn time_is_up() {
    let world = World::new();
    let session = world.open().await;
    sh(&session, "cd sub; sleep 300 & echo $! > server").await;
    for text in [
        "sleep 100; echo rest",
        "while :; do :; done",
        "trap '' TERM INT; sleep 100; echo rest",
        "exec sleep 100",
    ] {
        let begun = Instant::now();
        let ran = run(&session, SessionCommand::new(text).time_limit(Duration::from_millis(300))).await;
        assert_eq!(ran.captured.outcome.exit, Exit::TimedOut, "{text}");
        assert!(begun.elapsed() < Duration::from_secs(3), "{text} {:?}", begun.elapsed());
        assert_eq!(ran.stdout, "", "{text}");
        assert!(ran.captured.outcome.blocked, "{text}");
        let ran = sh(&session, "pwd; kill -0 $(cat server) && echo alive; pgrep -f '^sleep 100$'").await;
        let expected = format!("{}\nalive\n", world.at("home/work/sub").display());
        assert_eq!(ran.stdout, expected, "after {text}: {}", ran.stderr);
    }
}

#[tokio::test]
async fn a_command_is_cancelled() {
    let world = World::new();
    let session = world.open().await;
    let mut running = session.start(SessionCommand::new("echo begun; sleep 100; echo rest")).await.unwrap();
    let mut seen = String::new();
    while let Some(event) = running.next().await {
        match event {
            Event::Stdout { data } => {
                seen.push_str(&String::from_utf8_lossy(&data));
                running.cancel(2);
            }
            Event::Exited(outcome) => assert_eq!(outcome.exit, Exit::Cancelled { signal: 2 }),
            _ => {}
        }
    }
    assert_eq!(seen, "begun\n");
    works(&session).await;
    // Dropped in the middle, it does not hold the next one up.
    let running = session.start(SessionCommand::new("sleep 100")).await.unwrap();
    drop(running);
    let begun = Instant::now();
    works(&session).await;
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn more_processes_than_can_be_counted() {
    // Limits of processes do not hold for root, and nobody wants to find out here.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::new();
    let session = world.open().await;
    let text = "ulimit -u 300 && f() { f | f & } 2>/dev/null && f 2>/dev/null; sleep 100";
    let ran = run(&session, SessionCommand::new(text).time_limit(Duration::from_secs(1))).await;
    assert_eq!(ran.captured.outcome.exit, Exit::TimedOut);
    works(&session).await;
    session.close().await;
    assert!(world.left().is_empty());
}

#[tokio::test]
async fn variables_of_the_driver_that_take_no_values() {
    let world = World::new();
    for text in [
        "readonly _sk=0",
        "readonly _sk",
        "unset _sk; readonly _sk=0",
        "unset _sk; declare -n _sk=zz; readonly zz='echo forged ok'",
        "unset _sk; declare -n _sk=zz; zz=()",
        "unset _sk; declare -n _sk=LINENO",
        "unset _sk; declare -A _sk",
        "declare -i _sk",
        "declare -u _sk",
    ] {
        let session = world.open().await;
        let ran = sh(&session, text).await;
        assert!(ran.restarted().is_some(), "{text}: {:?}", ran.captured);
        works(&session).await;
        assert_eq!(sh(&session, "exit_with() { return $1; }; exit_with 3").await.code, 3, "after {text}");
    }
    for text in ["trap '_sk=0' DEBUG", "trap '_sk[1]=:' DEBUG", "_sk[4]=x", "set -a", "unset PWD; set -u"] {
        let session = world.open().await;
        sh(&session, text).await;
        let ran = sh(&session, "echo here; (exit 3)").await;
        assert_eq!((ran.stdout.as_str(), ran.code, ran.restarted()), ("here\n", 3, None), "after {text}");
    }
}

#[tokio::test]
async fn a_debug_trap_sees_its_own_command_only() {
    let world = World::new();
    let session = world.open().await;
    let ran = sh(&session, "trap 'echo \"$BASH_COMMAND\"; echo error >&2' DEBUG; echo here; (exit 3)").await;
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.code), ("echo here\nhere\n", "error\n", 3));
    assert_eq!(sh(&session, "echo here").await.stdout, "here\n");
}

#[tokio::test]
async fn a_long_command_is_left_alone() {
    let world = World::new();
    // Several at once: whether a shell reads its order before or after it is looked at is up to the scheduler.
    let one = async || {
        let session = world.open().await;
        let ran = sh(&session, "sleep 6.5; echo slept").await;
        assert_eq!((ran.stdout.as_str(), ran.code, ran.restarted()), ("slept\n", 0, None));
    };
    tokio::join!(one(), one(), one(), one(), one(), one(), one(), one());
}

#[tokio::test]
async fn a_directory_that_is_not_one() {
    let world = World::new();
    let session = world.open().await;
    let begun = Instant::now();
    let ran = sh(&session, "cd sub; x=$(head -c 15000000 /dev/zero | tr '\\0' a); PWD=/$x").await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(ran.restarted().is_some());
    works(&session).await;
    sh(&session, "cd sub 2>/dev/null; PWD=/root/not/there").await;
    let running = session.exec_argv(["sh", "-c", "exit 5"], stockade::Wiring::captured()).await.unwrap();
    assert_eq!(running.wait().await.unwrap().exit_code, 5);
}

#[tokio::test]
async fn nobody_takes_what_others_print() {
    let world = World::new();
    let session = world.open().await;
    // The second command has the pipes of the first.
    for _ in 0..2 {
        let ran = sh(&session, "chmod 600 /proc/$$/fd/1; { exec 9</proc/$$/fd/1; } && echo taken").await;
        assert_ne!(ran.code, 0, "{:?}", ran.captured);
        assert!(ran.stderr.contains("ermission denied"), "{}", ran.stderr);
        works(&session).await;
    }
    assert_eq!(sh(&session, "echo out >/dev/stdout; echo e >>/dev/stderr").await.stdout, "out\n");
}
