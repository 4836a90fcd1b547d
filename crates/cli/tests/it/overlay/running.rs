//! What a command sees and what is left.

use super::{apply, directory, held, is, names, overlays};
use crate::support::{Caller, Snapshot, World, binaries, each_caller, kill};
use std::fs;
use std::time::Duration;

const WORK: &str = "echo more >> a; rm b; mkdir -p new/deep; echo n > new/deep/f; ln -s a link; chmod 755 tool; \
                    mv dir moved; cat a new/deep/f moved/inside";

fn project(world: &World) {
    world.file("a", "one\n");
    world.file("b", "two\n");
    world.file("tool", "#!/bin/sh\n");
    world.file("dir/inside", "in\n");
}

#[test]
fn changes_are_seen_inside_and_held_back_outside() {
    each_caller(|world| {
        project(world);
        let before = Snapshot::of(&world.ws, &[]);
        let ran = held(world).shell(WORK);
        ran.exits(0).complains(&["held back", "stockade diff", "stockade apply", "stockade discard"]);
        assert_eq!(ran.out(), "one\nmore\nn\nin\n", "{ran}");
        Snapshot::of(&world.ws, &[]).same_as(&before, "a run with an overlay");
        assert_eq!(
            names(world),
            [
                "M a",
                "D b",
                "D dir",
                "D dir/inside",
                "A link",
                "A moved",
                "A moved/inside",
                "A new",
                "A new/deep",
                "A new/deep/f",
                "M tool"
            ]
        );
        let ran = apply(world);
        ran.exits(0).complains(&["11 changes"]);
        is(&world.ws.join("a"), "one\nmore\n");
        is(&world.ws.join("new/deep/f"), "n\n");
        is(&world.ws.join("moved/inside"), "in\n");
        assert!(!world.ws.join("b").exists() && !world.ws.join("dir").exists());
        assert_eq!(fs::read_link(world.ws.join("link")).unwrap().to_str(), Some("a"));
        assert!(overlays(world).is_empty(), "an overlay without changes is left");
    });
}

#[test]
fn nothing_is_left_where_nothing_changed() {
    each_caller(|world| {
        project(world);
        held(world).shell("cat a; touch a; echo x > new; rm new").exits(0);
        assert!(overlays(world).is_empty());
        // Nor where nothing ran.
        held(world).with("--settings", "absent.json").shell("true").refused_to_start(&["absent.json"]);
        assert!(overlays(world).is_empty());
    });
}

#[test]
fn a_name_takes_a_run_up_again() {
    each_caller(|world| {
        project(world);
        world.run().opt("--overlay=fix").shell("echo 1 > made; rm -r dir").exits(0);
        let ran =
            world.run().opt("--overlay=fix").shell("cat made; ls dir; mkdir dir; echo again > dir/other");
        assert_eq!(ran.out(), "1\n", "{ran}");
        assert_eq!(names(world), ["D dir/inside", "A dir/other", "A made"]);
        // Another overlay of the same directory, which has to be named from now on.
        held(world).shell("ls made; echo 2 > made").exits(0);
        let ran = world.stockade().opts(["diff", "--name-only"]).go();
        ran.exits(125).complains(&["several overlays", "fix"]);
        let ran = world.stockade().opts(["apply", "fix"]).go();
        ran.exits(0);
        is(&world.ws.join("made"), "1\n");
        is(&world.ws.join("dir/other"), "again\n");
        assert!(!world.ws.join("dir/inside").exists());
        // The name is free again.
        world.run().opt("--overlay=fix").shell("echo 3 > made").exits(0);
        world.stockade().opts(["discard", "fix"]).go().exits(0);
        is(&world.ws.join("made"), "1\n");
        world.stockade().opts(["discard", "--all"]).go().exits(0);
        assert!(overlays(world).is_empty());
        for name in ["--overlay=../x", "--overlay="] {
            world.run().opt(name).shell("true").refused_to_start(&["cannot be named"]);
        }
    });
}

#[test]
fn a_diff_is_a_patch() {
    each_caller(|world| {
        project(world);
        held(world).shell("printf 'zero\\none\\n' > a; rm b; printf 'no end' > c").exits(0);
        let ran = world.stockade().opt("diff").go();
        ran.exits(0);
        let patch = world.file(world.base.join("patch"), &ran.stdout);
        let ran = world.bare("/usr/bin/git").opt("apply").opt(&patch).go();
        ran.exits(0);
        is(&world.ws.join("a"), "zero\none\n");
        is(&world.ws.join("c"), "no end");
        assert!(!world.ws.join("b").exists());
        // What the workspace has already is no change.
        assert_eq!(names(world), [] as [&str; 0]);
        let ran = world.stockade().opts(["diff", "--json"]).go();
        assert_eq!(ran.out(), "[]\n");
    });
}

#[test]
fn numbers_and_lists_for_programs() {
    each_caller(|world| {
        project(world);
        held(world).shell("echo more >> a; head -c 100 /dev/zero > zeros").exits(0);
        let ran = world.stockade().opts(["diff", "--stat"]).go();
        assert_eq!(ran.out(), "M a +1 -0\nA zeros binary\n2 paths changed, 1 line added, 0 removed\n");
        let ran = world.stockade().opts(["diff", "--json", "a"]).go();
        let list: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        assert_eq!(list[0]["path"], "a");
        assert_eq!(list[0]["change"], "modified");
        assert_eq!(list[0]["after"]["size"], 9);
        assert_eq!(list[0]["linesAdded"], 1);
        let ran = world.stockade().opts(["overlays", "--json"]).go();
        let list: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        assert_eq!(list[0]["workspace"], world.ws.to_str().unwrap());
        assert_eq!(list[0]["changes"], 2);
    });
}

#[test]
fn one_sandbox_at_a_time() {
    each_caller(|world| {
        project(world);
        let live =
            world.run().opt("--overlay=one").opts(["-c", "echo x > made; echo up; sleep 60"]).start_words();
        live.first_output(Duration::from_secs(20));
        let ran = world.run().opt("--overlay=one").shell("echo ran");
        ran.refused_to_start(&["overlay", "hint"]);
        for act in ["apply", "discard"] {
            world.stockade().opt(act).go().exits(125).complains(&["in use"]);
        }
        assert!(!world.ws.join("made").exists());
        // Looking does no harm.
        assert_eq!(names(world), ["A made"]);
        kill(live.pid(), 9).expect("kill");
        live.reap();
        // What a killed run changed is not lost, and can be applied.
        apply(world).exits(0);
        is(&world.ws.join("made"), "x\n");
    });
}

#[test]
fn without_walls_nothing_is_held_back() {
    each_caller(|world| {
        let ran = world.run().opt("--overlay").with("--preset", "unrestricted").shell("echo x > made");
        ran.refused_to_start(&["without walls"]);
        assert!(!world.ws.join("made").exists());
    });
}

#[test]
fn places_that_cannot_be_held_back() {
    each_caller(|world| {
        project(world);
        // The layer would lie in what it is laid over.
        let ran = held(world).var("XDG_STATE_HOME", world.ws.join("state")).shell("echo ran");
        ran.refused_to_start(&["cannot be held back", "hint"]);
        // Not writable at all.
        let ran = held(world).with("--deny-write", ".").shell("echo ran");
        ran.refused_to_start(&["nothing to hold back"]);
        // Elsewhere is told.
        let ran = held(world).with("--allow-write", &world.outside).shell("true");
        ran.exits(0).complains(&["changed directly", world.outside.to_str().unwrap()]);
    });
}

#[test]
fn mounts_in_the_workspace_are_told() {
    let world = World::new(Caller::Root);
    if !crate::support::is_root() {
        return crate::support::skip("mounts_in_the_workspace_are_told", "only root can mount");
    }
    world.dir("inner");
    let text = format!(
        "mount -t tmpfs none inner && exec {} run --overlay -- true",
        binaries().stockade.to_str().unwrap()
    );
    let ran = world.bare("/usr/bin/unshare").opts(["-m", "sh", "-c", &text]).go();
    ran.refused_to_start(&["inner", "mount of its own"]);
}

/// The file system of the changes need not be the workspace's.
#[test]
fn changes_are_kept_on_another_file_system() {
    for caller in [Caller::Root, Caller::User] {
        if caller == Caller::Root && !crate::support::is_root() {
            continue;
        }
        let (world, elsewhere) = (World::new(caller), World::below(caller, std::path::Path::new("/dev/shm")));
        project(&world);
        world.file(".env", "secret");
        world.file("keep/.env", "secret");
        let state = elsewhere.dir(elsewhere.base.join("state"));
        let run = || held(&world).var("XDG_STATE_HOME", &state);
        let ran = run().shell(&format!("{WORK}; cat .env keep/.env; rm -rf keep"));
        assert_eq!(ran.out(), "one\nmore\nn\nin\n", "{ran}");
        world.stockade().opt("apply").var("XDG_STATE_HOME", &state).go().exits(0);
        is(&world.ws.join("a"), "one\nmore\n");
        is(&world.ws.join("keep/.env"), "secret");
        assert!(!world.ws.join("dir").exists());
    }
}

#[test]
fn the_overlay_itself_is_out_of_sight() {
    each_caller(|world| {
        project(world);
        held(world).shell("echo x > made").exits(0);
        let state = directory(world);
        let made = state.join("upper/made");
        is(&made, "x\n");
        let ran =
            held(world).shell(&format!("cat {0}; ls {1}; echo y > {0}", made.display(), state.display()));
        assert_eq!(ran.out(), "", "{ran}");
        is(&made, "x\n");
    });
}

#[test]
fn a_name_in_the_place_of_the_program_is_told() {
    each_caller(|world| {
        let hint = "hint: to keep the overlay under a name write --overlay=no-such-program";
        let run = |words: &[&str]| world.run().opts(words).go();
        run(&["--overlay", "no-such-program", "--", "true"])
            .exits(127)
            .complains(&["command not found", hint]);
        for (words, said) in [
            (&["--overlay=kept", "no-such-program"][..], "no-such-program: command not found"),
            (&["no-such-program", "true"], "no-such-program: command not found"),
            (&["--overlay", "/no-such-program"], "/no-such-program: there is no such file inside"),
        ] {
            let ran = run(words);
            ran.exits(127).complains(&[said]);
            assert!(!ran.err().contains("--overlay="), "{ran}");
        }
    });
}
