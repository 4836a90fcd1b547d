//! What comes into the workspace, and how.

use super::{apply, directory, held, is, names, overlays};
use crate::support::{World, each_caller};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

fn mode(world: &World, path: &str) -> u32 {
    fs::symlink_metadata(world.ws.join(path)).expect("stat").permissions().mode() & 0o7777
}

#[test]
fn kinds_change() {
    each_caller(|world| {
        world.file("file", "f\n");
        world.file("dir/a/b", "b\n");
        world.file("dir/c", "c\n");
        world.file("emptied/x", "x\n");
        world.link("file", "link");
        held(world)
            .shell(
                "rm file; mkdir file; echo in > file/in; rm -r dir; echo now > dir; rm link; mkdir link; \
                 rm -r emptied; mkdir emptied; ln -s nowhere emptied/dangling",
            )
            .exits(0);
        assert_eq!(
            names(world),
            [
                "T dir",
                "D dir/a",
                "D dir/a/b",
                "D dir/c",
                "A emptied/dangling",
                "D emptied/x",
                "T file",
                "A file/in",
                "T link"
            ]
        );
        apply(world).exits(0);
        is(&world.ws.join("file/in"), "in\n");
        is(&world.ws.join("dir"), "now\n");
        assert!(world.ws.join("link").symlink_metadata().unwrap().is_dir());
        assert!(world.ws.join("emptied/dangling").symlink_metadata().unwrap().is_symlink());
        assert!(!world.ws.join("emptied/x").exists());
    });
}

#[test]
fn permissions_and_times_come_along_and_rights_do_not() {
    each_caller(|world| {
        world.file("a", "a\n");
        world.file("closed/inside", "i\n");
        world.dir("shut");
        let ran = held(world).shell(
            "chmod 640 a; touch -d 2001-02-03T04:05:06Z a; echo t > tool; chmod 755 tool; chmod 500 closed; \
             chmod u+s tool 2>/dev/null; mkdir none; echo x > none/x; chmod 000 none/x none; \
             chmod 700 shut; echo y > shut/y; chmod 555 shut",
        );
        ran.exits(0);
        let ran = apply(world);
        assert!(overlays(world).is_empty(), "{ran}");
        assert_eq!(mode(world, "a"), 0o640);
        assert_eq!(mode(world, "tool"), 0o755, "a set-id bit was applied");
        assert_eq!(mode(world, "closed"), 0o500);
        assert_eq!(mode(world, "none"), 0o000);
        assert_eq!(mode(world, "shut"), 0o555);
        is(&world.ws.join("shut/y"), "y\n");
        assert_eq!(fs::metadata(world.ws.join("a")).unwrap().uid(), world.caller.ids().0);
        fs::set_permissions(world.ws.join("none"), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(mode(world, "none/x"), 0o000);
        for path in ["closed", "shut", "none"] {
            fs::set_permissions(world.ws.join(path), fs::Permissions::from_mode(0o700)).unwrap();
        }
    });
}

#[test]
fn content_brings_its_time() {
    each_caller(|world| {
        world.file("a", "a\n");
        held(world).shell("echo more >> a; touch -d 2001-02-03T04:05:06Z a").exits(0);
        apply(world).exits(0);
        assert_eq!(fs::metadata(world.ws.join("a")).unwrap().mtime(), 981_173_106);
    });
}

#[test]
fn some_paths_now_and_the_rest_later() {
    each_caller(|world| {
        world.file("a", "a\n");
        world.file("src/b", "b\n");
        world
            .run()
            .opt("--overlay=part")
            .shell("echo 2 > a; echo 2 > src/b; mkdir new; echo 2 > new/c; echo 2 > new/d")
            .exits(0);
        let ran = world.stockade().opts(["apply", "src", "new/c"]).go();
        ran.exits(0).complains(&["3 changes", "still holds 2"]);
        is(&world.ws.join("a"), "a\n");
        is(&world.ws.join("src/b"), "2\n");
        assert!(world.ws.join("new/c").exists() && !world.ws.join("new/d").exists());
        // What was applied can change again without being taken for the host's change.
        world.run().opt("--overlay=part").shell("echo 3 > src/b; rm new/c").exits(0);
        assert_eq!(names(world), ["M a", "D new/c", "A new/d", "M src/b"]);
        // From below, and with paths as one writes them there.
        world
            .stockade()
            .opts(["apply", "part", "../src/b", "./../new"])
            .at(world.ws.join("src"))
            .go()
            .exits(0);
        is(&world.ws.join("src/b"), "3\n");
        let ran = world.stockade().opts(["apply", "../outside"]).go();
        ran.exits(125).complains(&["is not below"]);
        apply(world).exits(0);
        is(&world.ws.join("a"), "2\n");
        assert!(overlays(world).is_empty());
    });
}

/// F30
#[test]
fn odd_files_do_not_stop_it() {
    each_caller(|world| {
        world.file("a", "a\n");
        let ran = held(world).shell(
            "mkfifo pipe; truncate -s 20G sparse; echo end >> sparse; head -c 3000000 /dev/urandom > big; ln big twin; \
             python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")' 2>/dev/null; echo b > b; exit 0",
        );
        ran.exits(0);
        let upper = directory(world).join("upper");
        let big = fs::read(upper.join("big")).unwrap();
        let ran = apply(world);
        ran.exits(1).complains(&["left out: pipe: it is a pipe"]);
        is(&world.ws.join("b"), "b\n");
        assert!(!world.ws.join("pipe").exists() && !world.ws.join("sock").exists());
        let sparse = fs::metadata(world.ws.join("sparse")).unwrap();
        assert_eq!(sparse.len(), (20 << 30) + 4);
        assert!(sparse.blocks() < 10_000, "the holes were filled: {}", sparse.blocks());
        assert!(
            fs::read(world.ws.join("big")).unwrap() == big && fs::read(world.ws.join("twin")).unwrap() == big
        );
        // Nothing of ours is left beside them.
        let drafts = fs::read_dir(&world.ws)
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".stockade"));
        assert_eq!(drafts.count(), 0);
        world.stockade().opt("discard").go().exits(0);
    });
}

/// Names are told in one line each, whatever they are made of, and are applied as they are.
#[test]
fn names_that_lie() {
    each_caller(|world| {
        held(world)
            .shell("touch \"$(printf 'a\\nD everything')\" \"$(printf 'x\\033[2Jy')\" \"$(printf 'no\\377text')\" -- -rf '*'")
            .exits(0);
        let ran = world.stockade().opts(["diff", "--name-only"]).go();
        assert_eq!(
            ran.out(),
            "A *\nA -rf\nA \"a\\nD everything\"\nA \"no\\377text\"\nA \"x\\033[2Jy\"\n",
            "{ran}"
        );
        for act in ["--stat", "--json"] {
            let ran = world.stockade().opts(["diff", act]).go();
            assert!(!ran.stdout.contains(&0x1b), "{ran}");
        }
        assert!(!world.stockade().opt("diff").go().stdout.contains(&0x1b));
        apply(world).exits(0);
        assert_eq!(fs::read_dir(&world.ws).unwrap().count(), 5);
    });
}

#[test]
fn a_discarded_overlay_is_gone() {
    each_caller(|world| {
        world.file("a", "a\n");
        held(world).shell("echo b > a; mkdir -p d/e; echo c > d/e/f; chmod 000 d/e/f d/e d").exits(0);
        let ran = world.stockade().opt("discard").go();
        ran.exits(0);
        assert!(ran.out().contains("discarded"), "{ran}");
        is(&world.ws.join("a"), "a\n");
        assert!(overlays(world).is_empty());
        world.stockade().opt("discard").go().exits(125).complains(&["no changes", "hint"]);
    });
}
