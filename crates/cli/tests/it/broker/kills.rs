//! F03: the launcher is killed at any moment. Nothing of ours stays, and nothing runs on.

use crate::act;
use crate::support::{World, binaries, each_caller, eventually, kill, processes_of};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// For both callers together.
const ROUNDS: u64 = 100;

#[track_caller]
fn nothing_runs(world: &World) {
    eventually(Duration::from_secs(10), || {
        let left = processes_of(&world.base);
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
}

fn names_below(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        found.push(entry.path().display().to_string());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names_below(&entry.path(), found);
        }
    }
}

/// Kills the launcher some time after the command said it is under way.
#[track_caller]
fn killed_after(world: &World, words: Vec<std::ffi::OsString>, pause: Duration) {
    let live = world.run().opt("--").opts(words).start_words();
    live.first_output(Duration::from_secs(20));
    let until = Instant::now() + pause;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    kill(live.pid(), libc::SIGKILL).unwrap();
    live.reap();
    nothing_runs(world);
}

#[test]
fn f03_among_creates_and_renames() {
    each_caller(|world| {
        let dir = world.dir("churn");
        for round in 0..ROUNDS {
            let words = act![&binaries().probe, "churn", &dir, "3", "60"];
            killed_after(world, words, Duration::from_micros(round * 137 % 9000));
        }
        let mut names = Vec::new();
        names_below(&world.ws, &mut names);
        for name in names.iter().filter(|name| !name.ends_with("/churn")) {
            let own = name.rsplit("/churn/").next().unwrap();
            assert!(own.starts_with('c') && own.contains('-'), "not the command's: {name}");
        }
        // The place is as good as before.
        world.run().program(["touch", "churn/after"]).exits(0);
    });
}

/// git makes locks of its own; what it would not leave behind bare must not be there.
#[test]
fn f03_among_commits_and_settings() {
    each_caller(|world| {
        let script = "git init -q r; cd r; git config user.name n; git config user.email e; echo ready; i=0; \
                      while :; do i=$((i+1)); echo $i > f; git add f; git commit -qm $i; git config branch.x.rebase $i; done";
        let mut own = 0;
        for round in 0..20_u64 {
            let words = act!["sh", "-c", script];
            killed_after(world, words, Duration::from_micros(round * 4111 % 60_000));
            let mut names = Vec::new();
            names_below(&world.ws, &mut names);
            let odd: Vec<&String> = names
                .iter()
                .filter(|name| name.contains("stockade") && !name.starts_with(world.base.to_str().unwrap()))
                .collect();
            assert!(odd.is_empty(), "{odd:?}");
            own += u32::from(world.ws.join("r/.git/config").exists());
            let config = fs::read_to_string(world.ws.join("r/.git/config")).unwrap_or_default();
            assert!(config.is_empty() || config.starts_with("[core]"), "half a file: {config:?}");
            fs::remove_dir_all(world.ws.join("r")).unwrap();
        }
        assert!(own > 0, "never came so far");
    });
}

/// Calls are waiting: a pipe without a reader, a full backlog.
#[test]
fn f03_while_calls_wait() {
    each_caller(|world| {
        let script = "import os, socket, threading, time\n\
            os.mkfifo('p'); s = socket.socket(socket.AF_UNIX); s.bind('s'); s.listen(0)\n\
            def pipe(): os.open('p', os.O_WRONLY)\n\
            def sock(): socket.socket(socket.AF_UNIX).connect('s')\n\
            for i in range(10):\n    \
                threading.Thread(target=pipe).start(); threading.Thread(target=sock).start()\n\
            time.sleep(0.2); print('ready', flush=True)\n";
        for _ in 0..5 {
            let before = Instant::now();
            killed_after(world, act!["/usr/bin/python3", "-c", script], Duration::from_millis(1));
            assert!(before.elapsed() < Duration::from_secs(20));
            for name in ["p", "s"] {
                fs::remove_file(world.ws.join(name)).unwrap();
            }
            assert_eq!(fs::read_dir(&world.ws).unwrap().count(), 0);
        }
    });
}
