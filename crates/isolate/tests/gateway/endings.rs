//! A launcher that is killed leaves nothing.

use crate::support::*;
use std::io::Read;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};
use stockade_policy::GatewayPlan;

/// In a process of its own: starts something that would run for long, and says so.
#[tokio::test]
async fn launcher() {
    let Ok(marker) = std::env::var("LAUNCH") else { return };
    let dir = scratch();
    let sandbox = create(plan(dir.path(), gateway(GatewayPlan::default()))).await;
    let doors = sandbox.doors();
    let command = stockade_isolate::Command::new(["/bin/sleep", &marker], dir.path());
    let _running = sandbox.exec(command).await.unwrap();
    std::fs::remove_dir(dir.path()).unwrap();
    println!("> up {}", doors.len());
    std::future::pending::<()>().await;
}

#[test]
fn nothing_is_left_of_a_launcher_that_is_killed() {
    let marker = format!("7{}.25", std::process::id());
    let mut launcher = Process::new(std::env::current_exe().unwrap())
        .args(["endings::launcher", "--exact", "--nocapture"])
        .env("LAUNCH", &marker)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    let mut output = launcher.stdout.take().unwrap();
    while !lines(&said).iter().any(|line| line == "up 6") {
        let mut piece = [0; 256];
        let length = output.read(&mut piece).unwrap();
        assert_ne!(length, 0, "{}", String::from_utf8_lossy(&said));
        said.extend(&piece[..length]);
    }
    // A program that was just started has no arguments for a moment.
    wait_for(&marker, 1);
    launcher.kill().unwrap();
    launcher.wait().unwrap();
    wait_for(&marker, 0);
}

fn wait_for(marker: &str, count: usize) {
    let started = Instant::now();
    while running(marker) != count {
        assert!(started.elapsed() < Duration::from_secs(5), "not {count} but {}", running(marker));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Processes with this among their arguments, the launcher's environment aside.
fn running(marker: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|word| word == marker.as_bytes())).count()
}
