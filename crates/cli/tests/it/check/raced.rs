//! Listed commands while something behind walls is at work in the same place.

use super::{PATIENCE, check};
use crate::support::{World, each_caller, eventually, kill};
use serde_json::Value;
use std::path::Path;

const LISTED: &str = r#"{"excludedCommands": ["git diff", "cat:*"]}"#;
const SIGKILL: i32 = 9;

fn at(world: &World, place: &Path, text: &str) -> Value {
    check(world, LISTED, &["--cwd", place.to_str().unwrap(), "-c", text])
}

#[test]
fn beside_another_run_walls_are_kept() {
    each_caller(|world| {
        let (sub, elsewhere) = (world.dir("sub"), world.dir(world.outside.join("elsewhere")));
        world.file("file", "here");
        let free = |place: &Path| at(world, place, "git diff")["decision"] == "unsandboxed";
        assert!(free(&world.ws) && free(&sub) && free(&elsewhere));
        let live = world.run().opts(["-c", "echo up; exec sleep 60"]).start_words();
        assert_eq!(live.first_output(PATIENCE), b"up\n");
        for place in [&world.ws, &sub, world.ws.parent().map(Path::to_owned).as_ref().unwrap()] {
            let told = at(world, place, "git diff");
            assert_eq!(told["decision"], "sandbox", "{} {told}", place.display());
            let reason = told["reason"].as_str().unwrap();
            assert!(reason.contains("another sandbox is at work"), "{told}");
        }
        assert!(free(&elsewhere));
        let file = world.settings(LISTED);
        let ran = world.run().opt("--settings").opt(&file).shell("cat file");
        ran.exits(0);
        assert!(!ran.err().contains("WITHOUT walls"), "{ran}");
        // Whatever became of its launcher, nothing is left.
        kill(live.pid(), SIGKILL).unwrap();
        drop(live);
        eventually(PATIENCE, || match free(&world.ws) && free(&sub) {
            true => Ok(()),
            false => Err(at(world, &world.ws, "git diff").to_string()),
        });
        let ran = world.run().opt("--settings").opt(&file).shell("cat file");
        ran.exits(0);
        assert!(ran.err().contains("WITHOUT walls"), "{ran}");
    });
}

/// A sandbox is known by its directory, not by the path that it had: another one may have renamed what is above.
#[test]
fn a_sandbox_that_was_moved_is_still_at_work() {
    each_caller(|world| {
        let sub = world.dir("one/sub");
        let live = world.run().at(&sub).opts(["-c", "echo up; exec sleep 60"]).start_words();
        assert_eq!(live.first_output(PATIENCE), b"up\n");
        std::fs::rename(world.ws.join("one"), world.ws.join("two")).unwrap();
        let told = at(world, &world.ws.join("two/sub"), "git diff");
        assert_eq!(told["decision"], "sandbox", "{told}");
        assert!(told["reason"].as_str().unwrap().contains("has been moved"), "{told}");
        drop(live);
        eventually(PATIENCE, || {
            let told = at(world, &world.ws.join("two/sub"), "git diff");
            if told["decision"] == "unsandboxed" { Ok(()) } else { Err(told.to_string()) }
        });
    });
}

/// Another directory of the repository is read, too.
#[test]
fn a_repository_is_one_place() {
    each_caller(|world| {
        world.bare("/usr/bin/git").opts(["init", "-q"]).opt(&world.ws).go().exits(0);
        let (one, other) = (world.dir("one"), world.dir("other"));
        let live = world.run().at(&one).opts(["-c", "echo up; exec sleep 60"]).start_words();
        assert_eq!(live.first_output(PATIENCE), b"up\n");
        let told = at(world, &other, "git diff");
        assert_eq!(told["decision"], "sandbox", "{told}");
        drop(live);
    });
}
