//! Nothing of ours is left, however a run ends; what the command left in our way is told.

use super::UNPROTECTED;
use crate::support::{World, each_caller, eventually, kill, mounts_of, processes_of};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Every name below a directory.
fn names_below(directory: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        found.insert(entry.path());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(names_below(&entry.path()));
        }
    }
    found
}

/// Names in the directories that everybody shares.
fn shared_names() -> BTreeSet<PathBuf> {
    let places = ["/tmp", "/dev/shm", "/run"];
    let names = places.iter().flat_map(|place| fs::read_dir(place).into_iter().flatten().flatten());
    names.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains("stockade")).collect()
}

#[track_caller]
fn nothing_runs_or_is_mounted(world: &World) {
    eventually(Duration::from_secs(10), || {
        let left = processes_of(&world.base);
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
    assert_eq!(mounts_of(world.base.to_str().unwrap()), Vec::<String>::new());
}

/// Records belong to the person; everything else has to be as it was.
fn ours(world: &World) -> BTreeSet<PathBuf> {
    let records = world.home.join(".local/state/stockade");
    let ways = [world.home.join(".local"), world.home.join(".local/state"), records.clone()];
    let mut names = names_below(&world.base);
    names.retain(|path| !path.starts_with(&records) && !ways.contains(path));
    names
}

#[test]
fn nothing_is_left_after_a_run() {
    each_caller(|world| {
        world.script(".git/hooks/pre-commit", "x");
        world.file("package.json", "{}");
        world.settings(UNPROTECTED);
        let shared = shared_names();
        let before = ours(world);
        for options in [&[][..], &["--review"], &["--review", "--tty"]] {
            world.run().opts(options).shell("true").exits(0);
            world.run().opts(options).shell("exit 4").exits(4);
            world.run().opts(options).opts(["--timeout", "0.3"]).shell("sleep 60").exits(137);
            world.run().opts(options).program(["no-such-program-here"]).exits(127);
            nothing_runs_or_is_mounted(world);
            let left = ours(world);
            let more: Vec<_> =
                left.symmetric_difference(&before).filter(|path| !is_cache(world, path)).collect();
            assert!(more.is_empty(), "{options:?}: {more:?}");
        }
        let more: Vec<PathBuf> = shared_names().difference(&shared).cloned().collect();
        assert!(more.iter().all(|path| !path.starts_with("/tmp")), "{more:?}");
    });
}

/// Tools' caches live on between runs.
fn is_cache(world: &World, path: &Path) -> bool {
    path.starts_with(world.home.join(".cache"))
}

#[test]
fn nothing_is_left_when_killed_at_any_moment() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        // Something to look at, so that reviews take their time.
        for number in 0..300 {
            world.file(format!("tree/{number}/package.json"), r#"{"scripts": {"a": "b"}}"#);
        }
        world.run().shell("true").exits(0);
        let before = ours(world);
        for turn in 0..60_u64 {
            let run = world.run().opt("--review").with("--settings", &settings);
            let live = run
                .opts(["-c", "mkdir -p work; echo x > work/mise.toml; rm -r work; sleep 0.01"])
                .start_words();
            // From before anything is set up until after the end.
            std::thread::sleep(Duration::from_micros(turn.wrapping_mul(7919) % 90_000));
            let _ = kill(live.pid(), libc::SIGKILL);
            live.reap();
            nothing_runs_or_is_mounted(world);
            let _ = fs::remove_dir_all(world.ws.join("work"));
        }
        let left = ours(world);
        let more: Vec<_> = left.symmetric_difference(&before).filter(|path| !is_cache(world, path)).collect();
        assert!(more.is_empty(), "{more:?}");
        // The place is as good as before.
        let ran = world.run().opt("--review").with("--settings", &settings).shell("echo x > mise.toml");
        ran.exits(0).complains(&["shellStart new mise.toml"]);
    });
}

/// The directory git is run in first is watched without being asked.
#[test]
fn a_workspace_that_became_a_repository_is_told() {
    each_caller(|world| {
        let settings = world.settings(UNPROTECTED);
        let events = world.base.join("events");
        let text = "echo 'ref: refs/heads/main' > HEAD; mkdir objects refs; echo '[core]' > config";
        let run = world.run().with("--settings", &settings).with("--events", &events);
        let ran = run.shell(text);
        ran.exits(0).complains(&["warning: ", "became a repository for git"]);
        let told = fs::read_to_string(&events).unwrap();
        let notices: Vec<&str> = told.lines().filter(|line| line.contains("\"type\":\"notice\"")).collect();
        assert_eq!(notices.len(), 1, "{told}");
        assert!(told.lines().last().unwrap().contains("\"type\":\"exited\""), "{told}");
        // It is there, and no news any more.
        let ran = world.run().with("--settings", &settings).shell("true");
        assert!(ran.err().is_empty(), "{ran}");
        // Nothing was removed behind anybody's back.
        assert!(world.ws.join("HEAD").exists() && world.ws.join("objects").is_dir());
    });
}

/// With protection on, the set cannot be completed in the first place.
#[test]
fn protection_refuses_such_a_repository() {
    each_caller(|world| {
        let ran = world.run().opt("--review").shell("echo x > HEAD; mkdir objects refs; ls");
        assert!(!ran.err().contains("became a repository") && !ran.err().contains("bareRepository"), "{ran}");
        let all = ["HEAD", "objects", "refs"].iter().all(|name| world.ws.join(name).exists());
        assert!(!all, "{ran}");
    });
}
