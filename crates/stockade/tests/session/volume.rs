//! Much output, much input, many commands.

use crate::support::{World, run, sh};
use std::fs;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use stockade::{Event, SessionCommand, SessionInput};
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn a_hundred_megabytes_on_both_streams() {
    const SIZE: usize = 100 << 20;
    let world = World::new();
    let session = world.open().await;
    let text = format!("head -c {SIZE} /dev/zero & head -c {SIZE} /dev/zero >&2; wait");
    let mut running = session.start(SessionCommand::new(text)).await.unwrap();
    let (mut out, mut err, mut code) = (0, 0, -1);
    while let Some(event) = running.next().await {
        match event {
            Event::Stdout { data } => out += data.len(),
            Event::Stderr { data } => err += data.len(),
            Event::Exited(outcome) => code = outcome.exit_code,
            _ => {}
        }
    }
    assert_eq!((out, err, code), (SIZE, SIZE, 0));
}

#[tokio::test]
async fn bytes_are_passed_on_as_they_are() {
    let world = World::new();
    let session = world.open().await;
    let ran = sh(&session, r"for i in {0..255}; do printf '%b' \\0$(printf %o $i); done").await;
    assert_eq!(ran.captured.stdout, (0..=255).collect::<Vec<u8>>());
    // Longer than what is said over the channel.
    let long = format!("echo '{}' | wc -c; echo \"it's $((6 * 7))\"", "x'\\''y\n".repeat(40_000));
    assert_eq!(sh(&session, &long).await.stdout, "160001\nit's 42\n");
    let ran =
        run(&session, SessionCommand::new("yes").output_limit(10).time_limit(Duration::from_secs(1))).await;
    assert_eq!(ran.stdout, "y\ny\ny\ny\ny\n");
    assert!(ran.captured.outcome.truncated);
    assert!(session.start(SessionCommand::new("echo \0")).await.is_err());
}

/// Who looks into the pipe before a slow shell has opened it is not taken for the shell.
#[tokio::test]
async fn input_that_was_written_before_it_is_opened_is_not_lost() {
    let world = World::new();
    let session = world.open().await;
    sh(&session, "(sleep 0.2; kill -STOP $$; sleep 1; kill -CONT $$) >/dev/null 2>&1 &").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut running = session.start(SessionCommand::new("cat").input(SessionInput::Piped)).await.unwrap();
    let mut stdin = running.stdin().unwrap();
    drop(fs::File::open(format!("/proc/self/fd/{}", stdin.as_raw_fd())).unwrap());
    stdin.write_all(b"kept").await.unwrap();
    drop(stdin);
    let mut seen = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(5), async {
        while let Some(event) = running.next().await {
            if let Event::Stdout { data } = event {
                seen.extend(data);
            }
        }
    });
    assert!(end.await.is_ok());
    assert_eq!(seen, b"kept");
}

#[tokio::test]
async fn each_command_has_its_own_input() {
    let world = World::new();
    let session = world.open().await;
    let piped = |text: &str| SessionCommand::new(text).input(SessionInput::Piped);
    for (text, input, output) in [
        ("cat; echo end", "one\ntwo", "one\ntwoend\n"),
        ("read x; echo \"got $x\"", "first\nsecond\n", "got first\n"),
        ("head -c 3; echo", "abcdef", "abc\n"),
        ("echo unread", "rest", "unread\n"),
        ("cat", "", ""),
    ] {
        let mut running = session.start(piped(text)).await.unwrap();
        let mut stdin = running.stdin().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        let mut seen = Vec::new();
        while let Some(event) = running.next().await {
            if let Event::Stdout { data } = event {
                seen.extend(data);
            }
        }
        assert_eq!(String::from_utf8_lossy(&seen), output, "{text}");
        // Nothing of it is left for the next one.
        assert_eq!(sh(&session, "cat; read x || echo none").await.stdout, "none\n");
    }
    // Nobody reads, and whoever writes hears about it at the end.
    let mut running = session.start(piped("sleep 0.1")).await.unwrap();
    let mut stdin = running.stdin().unwrap();
    let writing = tokio::spawn(async move {
        let block = vec![0; 1 << 20];
        while stdin.write_all(&block).await.is_ok() {}
    });
    assert_eq!(running.wait().await.unwrap().exit_code, 0);
    tokio::time::timeout(Duration::from_secs(5), writing).await.unwrap().unwrap();
}

#[tokio::test]
async fn late_output_goes_nowhere_and_harms_nobody() {
    let world = World::new();
    let session = world.open().await;
    let begun = Instant::now();
    let ran =
        sh(&session, "(for i in 1 2 3 4 5 6; do sleep 0.1; echo late $i; done; touch done) & echo now").await;
    assert_eq!(ran.stdout, "now\n");
    assert!(begun.elapsed() < Duration::from_millis(500));
    for _ in 0..20 {
        assert_eq!(sh(&session, "echo one").await.stdout, "one\n");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(world.at("home/work/done").exists());
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Resident pages of this process and, in the sandbox, of the shell.
fn resident(pid: &str) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
    statm.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn ten_thousand_commands_leave_nothing() {
    let world = World::new();
    let session = world.open().await;
    let mut before = (0, 0, String::new());
    for round in 0..10_000 {
        let ran = session.run("echo $((n += 1))").await.unwrap();
        assert_eq!(ran.stdout, format!("{}\n", round + 1).as_bytes());
        if round == 1000 {
            let shell = session.run("cut -d' ' -f24 /proc/$$/stat; ls /proc/$$/fd").await.unwrap();
            before = (descriptors(), resident("self"), String::from_utf8(shell.stdout).unwrap());
        }
    }
    let shell = session.run("cut -d' ' -f24 /proc/$$/stat; ls /proc/$$/fd").await.unwrap();
    let after = (descriptors(), resident("self"), String::from_utf8(shell.stdout).unwrap());
    // Tests that run beside this one have descriptors, too.
    assert!(after.0 <= before.0 + 40, "{before:?} {after:?}");
    assert!(after.1 <= before.1 + 4000, "{before:?} {after:?}");
    let pages = |said: &str| said.lines().next().unwrap().parse::<u64>().unwrap();
    assert!(pages(&after.2) <= pages(&before.2) + 100, "{before:?} {after:?}");
    assert_eq!(after.2.lines().count(), before.2.lines().count(), "{before:?} {after:?}");
    session.close().await;
    assert!(world.left().is_empty());
}
