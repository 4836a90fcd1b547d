//! A layer that wants to be applied somewhere else, or to become more than it was.

use super::{apply, directory, held, is, names};
use crate::support::{Snapshot, each_caller};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

/// F29: links that a command planted are applied as links, and never followed.
#[test]
fn links_are_never_followed() {
    each_caller(|world| {
        world.file("dir/a", "a\n");
        world.file("file", "f\n");
        world.file(world.outside.join("a"), "outside\n");
        world.file(world.outside.join("victim"), "outside\n");
        let before = Snapshot::of(&world.outside, &[]);
        let outside = world.outside.to_str().unwrap();
        held(world)
            .shell(&format!(
                "rm -r dir; ln -s {outside} dir; rm file; ln -s {outside}/victim file; ln -s {outside} new; \
                 ln -s ../../../../../../etc/passwd up; ln -s / root"
            ))
            .exits(0);
        world.stockade().opt("diff").go().exits(0);
        apply(world).exits(0);
        assert_eq!(fs::read_link(world.ws.join("dir")).unwrap(), world.outside);
        assert_eq!(fs::read_link(world.ws.join("file")).unwrap(), world.outside.join("victim"));
        Snapshot::of(&world.outside, &[]).same_as(&before, "planted links");
    });
}

/// The same, step by step: a link is applied first, and then a directory comes to lie behind its name.
#[test]
fn a_link_that_was_applied_is_not_a_way_out() {
    each_caller(|world| {
        let outside = world.outside.to_str().unwrap();
        world.run().opt("--overlay=steps").shell(&format!("ln -s {outside} dir")).exits(0);
        world.stockade().opts(["apply", "dir"]).go().exits(0);
        let before = Snapshot::of(&world.outside, &[]);
        world.run().opt("--overlay=steps").shell("rm dir; mkdir dir; echo evil > dir/planted").exits(0);
        // Only what is behind the name, not the directory itself: that has to come, too.
        world.stockade().opts(["apply", "--force", "dir/planted"]).go().keeps_calm();
        Snapshot::of(&world.outside, &[]).same_as(&before, "a link that was applied");
        assert!(!world.outside.join("planted").exists());
    });
}

/// A link that was harmless when it was made: by now git remembers a conflict there, and would follow it.
#[test]
fn no_link_is_applied_to_a_remembered_conflict() {
    each_caller(|world| {
        world.run().shell("git init -q .").exits(0);
        held(world).shell("ln -s /etc/passwd f; ln -s /etc/passwd other").exits(0);
        world.file(".git/MERGE_RR", format!("{}\tf\0", "1".repeat(40)));
        let ran = world.stockade().opts(["apply", "--force"]).go();
        assert!(format!("{ran}").contains("git remembers the conflict in"), "{ran}");
        assert!(!world.ws.join("f").is_symlink());
        fs::remove_file(world.ws.join(".git/MERGE_RR")).unwrap();
        world.stockade().opts(["apply", "--force"]).go().exits(0);
        assert!(world.ws.join("f").is_symlink());
    });
}

/// Whatever got into the layer: what commands may not make is not made for them, not even by force.
#[test]
fn protected_names_are_refused_again() {
    each_caller(|world| {
        for dir in ["hooks", "objects", "refs"] {
            world.dir(format!(".git/{dir}"));
        }
        world.file(".git/HEAD", "ref: refs/heads/main\n");
        world.file(".git/config", "[core]\n\tbare = false\n");
        world.file(".vscode/tasks.json", "{}");
        held(world).shell("echo fine > fine").exits(0);
        let upper = directory(world).join("upper");
        for (path, content) in [
            (".bashrc", "evil"),
            (".git/hooks/pre-commit", "evil"),
            (".git/config", "[core]\n\tfsmonitor = evil\n"),
            (".vscode/tasks.json", "evil"),
            (".mcp.json", "evil"),
            (".stockade.json", "{}"),
            ("deep/.env", "evil"),
            ("bare/HEAD", "ref: refs/heads/main\n"),
            ("bare/objects/x", ""),
            ("bare/refs/x", ""),
        ] {
            world.file(upper.join(path), content);
        }
        for words in [&["apply"][..], &["apply", "--force"]] {
            let ran = world.stockade().opts(words).go();
            ran.exits(1);
            for name in [
                ".bashrc",
                ".git/hooks/pre-commit",
                ".git/config",
                ".vscode/tasks.json",
                ".mcp.json",
                ".stockade.json",
                "deep/.env",
            ] {
                ran.complains(&[&format!("left out: {name}:")]);
            }
            let repository =
                ["HEAD", "objects", "refs"].map(|name| world.ws.join("bare").join(name).exists());
            assert!(!repository.iter().all(|there| *there), "a repository was made{ran}");
        }
        is(&world.ws.join("fine"), "fine\n");
        is(&world.ws.join(".git/config"), "[core]\n\tbare = false\n");
        is(&world.ws.join(".vscode/tasks.json"), "{}");
        for name in [".bashrc", ".mcp.json", ".stockade.json"] {
            assert!(!world.ws.join(name).exists(), "{name}");
        }
    });
}

/// Marks that mean rights, or mean something to the kernel's overlays, do not leave the layer.
#[test]
fn nobody_completes_a_repository_meanwhile() {
    each_caller(|world| {
        world.dir("r/refs");
        held(world).shell("echo 'ref: refs/heads/x' > r/HEAD; mkdir other; echo y > other/y").exits(0);
        // A broker holds it for as long as it looks and acts.
        let broker = fs::File::open(world.ws.join("r")).expect("open");
        broker.lock().expect("lock");
        apply(world).exits(1).complains(&["left out: r/HEAD", "holds a lock on its directory"]);
        assert!(!world.ws.join("r/HEAD").exists() && world.ws.join("other/y").exists());
        drop(broker);
        apply(world).exits(0).complains(&["1 change of overlay"]);
        assert!(world.ws.join("r/HEAD").exists());
    });
}

#[test]
fn marks_stay_behind() {
    each_caller(|world| {
        world.file("a", "a\n");
        held(world)
            .shell("echo b >> a; echo tool > tool; chmod 755 tool; rm -rf d; mkdir d; echo x > d/x")
            .exits(0);
        let upper = directory(world).join("upper");
        fs::set_permissions(upper.join("tool"), fs::Permissions::from_mode(0o6755)).unwrap();
        set_attribute(&upper.join("tool"), "user.note", b"y");
        set_attribute(&upper.join("a"), "user.overlay.opaque", b"y");
        if crate::support::is_root() {
            // Version 2, cap_setuid permitted and effective.
            let capability = [1, 0, 0, 2, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            set_attribute(&upper.join("tool"), "security.capability", &capability);
        }
        set_attribute(&world.ws.join("a"), "user.mine", b"kept");
        // Setting a mark is a change to the file.
        let ran = world.stockade().opts(["apply", "--force"]).go();
        assert!(ran.err().contains("tool"), "{ran}");
        let tool = world.ws.join("tool");
        assert_eq!(fs::metadata(&tool).unwrap().permissions().mode() & 0o7777, 0o755);
        assert_eq!(attributes(&tool), [] as [&str; 0]);
        assert_eq!(attributes(&world.ws.join("a")), ["user.mine"]);
    });
}

/// The layer holds things no command can make.
#[test]
fn odd_layers_do_no_harm() {
    each_caller(|world| {
        world.file("a", "a\n");
        held(world).shell("echo b > b; mkdir d; echo c > d/c").exits(0);
        let layer = directory(world);
        symlink("/etc", layer.join("upper/etc")).unwrap();
        fs::rename(layer.join("upper/d"), layer.join("upper/real")).unwrap();
        symlink(&world.outside, layer.join("upper/d")).unwrap();
        assert!(names(world).contains(&"A d".to_owned()));
        apply(world).exits(0);
        assert_eq!(fs::read_dir(&world.outside).unwrap().count(), 0);
        // A layer that is itself a link.
        held(world).shell("echo b > e").exits(0);
        let layer = directory(world);
        fs::rename(layer.join("upper"), layer.join("away")).unwrap();
        symlink(&world.outside, layer.join("upper")).unwrap();
        apply(world).exits(125);
    });
}

/// A command makes a tree that is deeper than paths can say.
#[test]
fn a_tree_without_a_bottom() {
    each_caller(|world| {
        let ran = held(world).shell(
            "i=0; name=$(printf 'n%.0s' $(seq 200)); while [ $i -lt 40 ]; do mkdir $name && cd $name || exit 3; i=$((i+1)); done; \
             echo deep > f; true",
        );
        ran.keeps_calm();
        world.stockade().opts(["diff", "--name-only"]).go().exits(0);
        apply(world).keeps_calm();
        world.stockade().opt("discard").go().exits(0);
    });
}

fn set_attribute(path: &std::path::Path, name: &str, value: &[u8]) {
    rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty())
        .unwrap_or_else(|error| panic!("{name} on {}: {error}", path.display()));
}

fn attributes(path: &std::path::Path) -> Vec<String> {
    let mut list = vec![0_u8; 4096];
    let length = rustix::fs::listxattr(path, &mut list[..]).expect("list attributes");
    let names = list[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}
