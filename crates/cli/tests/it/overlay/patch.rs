//! What `diff` prints is what git takes.

use super::{held, is, names};
use crate::support::{World, each_caller};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn git_takes_all_of_it() {
    each_caller(|world| {
        world.file("text", "one\ntwo\n");
        world.file("tool", "#!/bin/sh\n");
        world.file("shut", "s\n");
        world.file("becomes-link", "l\n");
        world.file("becomes-dir", "d\n");
        world.file("dir/a/b", "b\n");
        world.file("gone", "g\n");
        world.file("picture", [0, 1, 2]);
        held(world)
            .shell(
                "echo three >> text; chmod 755 tool; chmod 600 shut; rm becomes-link; ln -s text becomes-link; \
                 rm becomes-dir; mkdir becomes-dir; echo in > becomes-dir/in; rm -r dir; echo now > dir; rm gone; \
                 mkdir -p new/deep/empty; echo n > new/deep/n; chmod 700 new; : > nothing; printf '\\0x' > picture; \
                 mkfifo pipe; printf '\\0y' > zeros",
            )
            .exits(0);
        let ran = world.stockade().opt("diff").go();
        ran.exits(0);
        let patch = world.file(world.base.join("patch"), &ran.stdout);
        let took = world.bare("/usr/bin/git").opts(["apply", "--verbose"]).opt(&patch).go();
        assert_eq!(took.code(), 0, "{took}\n{}", ran.out());
        is(&world.ws.join("text"), "one\ntwo\nthree\n");
        is(&world.ws.join("becomes-dir/in"), "in\n");
        is(&world.ws.join("dir"), "now\n");
        is(&world.ws.join("new/deep/n"), "n\n");
        is(&world.ws.join("nothing"), "");
        assert_eq!(fs::read_link(world.ws.join("becomes-link")).unwrap().to_str(), Some("text"));
        assert!(!world.ws.join("gone").exists());
        let mode = fs::metadata(world.ws.join("tool")).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111);
        // What git cannot take is said in lines of its own.
        for line in [
            "# picture: ",
            "# zeros: new file",
            "# pipe: new pipe",
            "# new/deep/empty: new directory",
            "# shut: ",
        ] {
            assert!(ran.out().lines().any(|found| found.starts_with(line)), "{line}: {ran}");
        }
    });
}

fn refused(world: &World, words: &[&str], told: &[&str]) {
    world.stockade().opts(words).go().exits(125).complains(told);
}

#[test]
fn words_that_name_nothing() {
    each_caller(|world| {
        world.file("src/a", "a\n");
        world.run().opt("--overlay=src").shell("echo b > src/a; echo c > other").exits(0);
        for act in ["diff", "apply"] {
            refused(
                world,
                &[act, "deadbeef"],
                &["neither an overlay nor a change", "deadbeef", "other", "src/a"],
            );
            refused(world, &[act, "src"], &["an overlay and a path", "./src"]);
        }
        is(&world.ws.join("src/a"), "a\n");
        let ran = world.stockade().opts(["apply", "./src"]).go();
        ran.exits(0).complains(&["1 change of overlay"]);
        is(&world.ws.join("src/a"), "b\n");
        assert_eq!(names(world), ["A other"]);
    });
}

/// Names that rearrange what stands around them reach programs as they are, and eyes do not see them.
#[test]
fn json_shows_what_misleads() {
    each_caller(|world| {
        held(world).shell("touch \"$(printf 'a\\342\\200\\256txt\\302\\233b')\"").exits(0);
        let ran = world.stockade().opts(["diff", "--json"]).go();
        assert!(ran.out().contains("a\\u202etxt\\u009bb"), "{ran}");
        let list: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        assert_eq!(list[0]["path"], "a\u{202e}txt\u{9b}b");
    });
}
