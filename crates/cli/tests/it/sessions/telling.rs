//! What a person is told besides what commands print.

use super::{Hosted, SOON};
use crate::support::{World, each_caller};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Longer than it takes until a file that was just written is taken for what it is.
const SEEN: Duration = Duration::from_secs(3);

fn settings(world: &World, content: &str) -> PathBuf {
    world.file(world.home.join(".config/stockade/settings.json"), content)
}

#[test]
fn a_command_without_walls_is_announced() {
    each_caller(|world| {
        settings(world, r#"{"excludedCommands": ["cat*"]}"#);
        world.file("x", "x");
        let session = Hosted::new(world, "a", &[]);
        let warning = "this runs WITHOUT walls: ";
        for words in [&["-c", "cat x"][..], &["--", "cat", "x"], &["-q", "-c", "cat x"]] {
            let ran = session.exec().opts(words).go();
            ran.exits(0).complains(&[warning]);
            assert_eq!((ran.out().as_str(), ran.err().matches(warning).count()), ("x", 1), "{ran}");
        }
        // It keeps its walls where it goes on beside others.
        let ran = session.exec().opts(["--background", "-c", "cat x"]).go();
        assert_eq!(ran.exits(0).err(), "", "{ran}");
        let ran = session.exec().shell("true");
        assert_eq!(ran.err(), "", "{ran}");
    });
}

#[test]
fn whoever_waits_hears_of_a_new_shell() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let first = session.exec().opts(["-c", "echo begun; sleep 1; exit 3"]).start_words();
        first.first_output(SOON);
        let second = session.exec().opts(["-c", "echo second"]).start_words();
        first.finish(SOON).exits(3).complains(&["started anew"]);
        second.finish(SOON).exits(0).complains(&["started anew: the command ended its shell with status 3"]);
        let ran = session.exec().shell("true");
        assert_eq!(ran.err(), "", "{ran}");
    });
}

#[test]
fn settings_that_went_wrong_let_nothing_run_without_walls() {
    each_caller(|world| {
        let mine = settings(world, "{}");
        let named = world.file(world.base.join("named.json"), r#"{"sandbox": {"enabled": false}}"#);
        let path = named.to_str().unwrap();
        let session = Hosted::new(world, "a", &["--settings", path]);
        session.exec().shell("echo one").exits(0).complains(&["this runs WITHOUT walls"]);
        let mark = world.outside.join("mark");
        let touch = format!("touch {}", mark.display());
        let refused = ["has changed and is wrong", "nothing runs without walls"];
        for text in [r#"{"sandbox":{"enabled":true,}"#, r#"{"sandbox":{"enabled":"no"}}"#, ""] {
            // At once, and not only when the file has settled.
            world.file(&named, text);
            for words in [&["-c", &*touch][..], &["--", "touch", mark.to_str().unwrap()]] {
                session.exec().opts(words).go().exits(125).complains(&refused).complains(&[path]);
            }
        }
        fs::remove_file(&named).unwrap();
        session.exec().shell(&touch).exits(125).complains(&refused).complains(&[path]);
        assert!(!mark.exists());
        world.file(&named, r#"{"sandbox": {"enabled": false}}"#);
        session.exec().shell("echo two").exits(0).complains(&["is in order again", "WITHOUT walls"]);
        session.exec().shell(&touch).exits(0);
        assert!(mark.exists());

        // The user's own, where a list was to be taken back.
        settings(world, r#"{"excludedCommands": ["cat*"], "commands": {"deny": [{"program": "uname"}]}}"#);
        world.file("x", "x");
        let session = Hosted::new(world, "b", &[]);
        session.exec().shell("cat x").exits(0).complains(&["this runs WITHOUT walls"]);
        settings(world, r#"{"excludedCommand": []}"#);
        let mine = mine.to_str().unwrap();
        session.exec().shell("true").exits(0).complains(&[
            mine,
            "has changed and is wrong",
            "excludedCommand",
        ]);
        session.exec().shell("cat x").exits(125).complains(&refused).complains(&[mine]);
        session.exec().shell("uname").exits(125).complains(&["a rule denies this command"]);
    });
}

#[test]
fn a_broken_edit_of_the_settings_is_told_once() {
    each_caller(|world| {
        let path = settings(world, "{}");
        let path = path.to_str().unwrap();
        let session = Hosted::new(world, "a", &[]);
        for words in [&["-c", "true"][..], &["--", "true"], &["--background", "-c", "true"]] {
            settings(world, "{broken");
            std::thread::sleep(SEEN);
            session.exec().opts(words).go().exits(0).complains(&[path, "has changed and is wrong"]);
            for words in [&["-c", "true"][..], &["--", "true"]] {
                let ran = session.exec().opts(words).go();
                assert_eq!(ran.err(), "", "{ran}");
            }
            settings(world, "{}");
            std::thread::sleep(SEEN);
            session.exec().opts(words).go().exits(0).complains(&[path, "is in order again"]);
        }
    });
}

#[test]
fn what_a_removed_file_allowed_ends_with_it() {
    each_caller(|world| {
        let path = settings(world, r#"{"excludedCommands": ["cat*"]}"#);
        world.file("x", "x");
        let session = Hosted::new(world, "a", &[]);
        session.exec().shell("cat x").exits(0).complains(&["WITHOUT walls"]);
        fs::remove_file(&path).expect("remove");
        let ran = session.exec().shell("cat x");
        assert!(!ran.err().contains("WITHOUT walls"), "{ran}");
    });
}

#[test]
fn a_refused_command_does_not_keep_the_old_walls() {
    each_caller(|world| {
        settings(world, "{}");
        world.file("sec", "s\n");
        let session = Hosted::new(world, "a", &[]);
        let reads = world.ws.join("reads");
        let watch = "(while cat sec >>reads; do sleep 0.02; done) >/dev/null 2>&1 &";
        session.exec().shell(&format!("export KEPT=kept; {watch}")).exits(0);
        let stops = || {
            let size = || fs::metadata(&reads).map_or(0, |found| found.len());
            let before = size();
            std::thread::sleep(Duration::from_millis(300));
            size() == before
        };
        assert!(!stops());
        settings(
            world,
            r#"{"filesystem": {"denyRead": ["./sec"]}, "commands": {"deny": [{"program": "*", "args": []}]}}"#,
        );
        assert_ne!(session.exec().shell("id").code(), 0);
        assert!(stops());
        // The next one that may run is told, and has what can be kept.
        settings(world, "{}");
        let ran = session.exec().shell("echo $KEPT");
        ran.exits(0).complains(&["the settings have changed"]);
        assert_eq!(ran.out(), "kept\n");
    });
}

#[test]
fn a_shell_that_takes_no_orders_is_given_up() {
    each_caller(|world| {
        let session = Hosted::new(world, "a", &[]);
        let given_up = |text: &str| {
            let begun = Instant::now();
            let ran = session.exec().shell(text);
            assert!(begun.elapsed() < Duration::from_secs(8), "{text}: {:?}", begun.elapsed());
            ran.exits(137).complains(&["the shell did not take orders any more, and was given up"]);
            session.exec().shell("true").exits(0);
        };
        given_up("set -n");
        // Somebody else reads the next one.
        let find = "for fd in {40..60}; do [[ -S /proc/self/fd/$fd ]] && break; done";
        session.exec().shell(&format!("{find}; (timeout 20 cat <&$fd >/dev/null) & sleep 0.2")).exits(0);
        // It may be found out before, when the shell is asked what it would take along, or be the quicker one.
        let ran = session.exec().shell("echo here");
        if ran.code() == 0 {
            assert_eq!(ran.out(), "here\n", "{ran}");
        } else {
            ran.exits(137).complains(&["was given up: the command", "not", "been run"]);
            assert_eq!(ran.out(), "", "{ran}");
        }
    });
}
