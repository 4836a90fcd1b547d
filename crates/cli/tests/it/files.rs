//! Reads and writes: what the mounts hold, whatever name an attacker finds for a file.

use crate::act;
use crate::support::{Answer, Caller, Snapshot, World, each_caller};
use std::fs;
use std::path::Path;

/// Every way to change something at `dir`, which holds the files `a` and `b`, the directories `full` and
/// `bare`. The order matters where the acts succeed.
fn changes(dir: &Path, world: &World) -> Vec<Vec<std::ffi::OsString>> {
    let at = |name: &str| dir.join(name);
    let (user, group) = world.caller.ids();
    vec![
        act!["open-write", at("a")],
        act!["open-both", at("a")],
        act!["write", at("a")],
        act!["append", at("a")],
        act!["empty", at("a")],
        act!["truncate", at("a")],
        act!["create", at("new")],
        act!["put", at("new2")],
        act!["mkdir", at("newdir")],
        act!["mknod", at("fifo"), "fifo"],
        act!["symlink", "a", at("newlink")],
        act!["link", at("a"), at("hard")],
        act!["chmod", at("a"), "0o600"],
        act!["chown", at("a"), user.to_string(), group.to_string()],
        act!["utimens", at("a")],
        act!["tmpfile", dir, at("named")],
        act!["exchange", at("a"), at("b")],
        act!["rename", at("a"), at("c")],
        act!["unlink", at("b")],
        act!["rmdir", at("bare")],
        act!["rename", at("full"), at("moved")],
    ]
}

fn furnish(world: &World, dir: &Path) {
    world.file(dir.join("a"), "a");
    world.file(dir.join("b"), "b");
    world.file(dir.join("full/x"), "x");
    world.dir(dir.join("bare"));
}

#[test]
fn writes_outside_are_refused_and_inside_work() {
    each_caller(|world| {
        furnish(world, &world.outside);
        let inside = world.dir("inside");
        furnish(world, &inside);
        let before = Snapshot::of(&world.outside, &[]);
        for answer in world.run().batch(changes(&world.outside, world)) {
            answer.errno(&["EROFS"]);
        }
        Snapshot::of(&world.outside, &[]).same_as(&before, "after attacks from inside");
        for answer in world.run().batch(changes(&inside, world)) {
            answer.ok();
        }
    });
}

#[test]
fn attributes_follow_the_same_rule() {
    each_caller(|world| {
        let (secret, free) = (world.file(world.outside.join("f"), "x"), world.file("f", "x"));
        if !world.outside_probe(act!["setxattr", &free]).succeeded() {
            crate::support::skip(
                "files::attributes_follow_the_same_rule",
                "no user attributes on this file system",
            );
            return;
        }
        world.probe(act!["setxattr", &secret]).errno(&["EROFS"]);
        world.probe(act!["setxattr", &free]).ok();
    });
}

#[test]
fn allow_write_opens_exactly_what_it_names() {
    each_caller(|world| {
        let open = world.dir(world.outside.join("open"));
        furnish(world, &open);
        world.file(world.outside.join("openfile"), "x");
        world.file(world.outside.join("open.not/a"), "x");
        let run = || world.run().with("--allow-write", &open);
        for answer in run().batch(changes(&open, world)) {
            answer.ok();
        }
        run().probe(act!["write", world.outside.join("openfile")]).errno(&["EROFS"]);
        run().probe(act!["write", world.outside.join("open.not/a")]).errno(&["EROFS"]);
        run().probe(act!["rename", &open, world.outside.join("moved")]).errno(&["EBUSY", "EROFS"]);
    });
}

#[test]
fn allow_write_of_a_single_file() {
    each_caller(|world| {
        let file = world.file(world.outside.join("one"), "x");
        let beside = world.file(world.outside.join("two"), "x");
        let run = || world.run().with("--allow-write", &file);
        run().probe(act!["write", &file]).ok();
        assert_eq!(fs::read(&file).unwrap(), b"ATTACK");
        run().probe(act!["write", &beside]).errno(&["EROFS"]);
        run().probe(act!["create", world.outside.join("three")]).errno(&["EROFS"]);
    });
}

/// F05
#[test]
fn f05_links_in_the_workspace_lead_nowhere_new() {
    each_caller(|world| {
        let target = world.file(world.outside.join("file"), "host");
        let hidden = world.file(world.outside.join("hidden"), "SECRET");
        let inner = world.file("inner", "mine");
        world.link(&target, "to-file");
        world.link(&world.outside, "to-dir");
        world.link("../../outside/file", "relative");
        world.link(&inner, "to-inner");
        let before = Snapshot::of(&world.outside, &[]);
        let at = |name: &str| world.ws.join(name);
        let answers = world.run().with("--deny-read", &hidden).batch([
            act!["write", at("to-file")],
            act!["write", at("relative")],
            act!["create", at("to-dir/new")],
            act!["unlink", at("to-dir/file")],
            // Links made after the start.
            act!["symlink", &world.outside, at("late")],
            act!["write", at("late/file")],
            act!["symlink", &hidden, at("peek")],
            act!["read", at("peek")],
            act!["read", at("to-dir/hidden")],
            act!["write", at("to-inner")],
            act!["read", at("to-file")],
        ]);
        for refused in [0, 1, 2, 3, 5] {
            answers[refused].errno(&["EROFS"]);
        }
        for refused in [7, 8] {
            answers[refused].errno(&["EACCES"]);
        }
        for fine in [4, 6, 9, 10] {
            answers[fine].ok();
        }
        assert_eq!(fs::read(&inner).unwrap(), b"ATTACK");
        Snapshot::of(&world.outside, &[]).same_as(&before, "after writing through links");
    });
}

/// A rule given through a link protects the file behind it, and a rule on the file protects against links.
#[test]
fn rules_follow_links() {
    each_caller(|world| {
        let real = world.file(world.outside.join("real/secret"), "SECRET");
        let link = world.link(world.outside.join("real"), world.base.join("alias"));
        let kept = world.file("kept", "x");
        let kept_link = world.link(&kept, "kept-link");
        let run = || world.run().with("--deny-read", link.join("secret")).with("--deny-write", &kept_link);
        run().probe(act!["read", &real]).errno(&["EACCES"]);
        run().probe(act!["read", link.join("secret")]).errno(&["EACCES"]);
        run().probe(act!["write", &kept]).errno(&["EROFS"]);
        run().probe(act!["write", &kept_link]).errno(&["EROFS"]);
        world.run().probe(act!["read", &real]).ok();
        world.run().probe(act!["write", &kept]).ok();
    });
}

/// F07
#[test]
fn f07_dots_that_leave_the_workspace() {
    each_caller(|world| {
        // The first start makes the cache directory.
        world.run().program(["true"]).exits(0);
        let before = Snapshot::of(&world.base, &[&world.home.join(".cache"), &world.ws]);
        let answers = world.run().batch([
            act!["create", world.ws.join("../x")],
            act!["create", world.ws.join("../../outside/x")],
            act!["create", world.ws.join("none/../../x")],
            act!["mkdir", world.ws.join("../../outside/dir")],
            act!["rename", world.ws.join("."), world.ws.join("../x")],
            act!["create", world.ws.join("./sub/../fine")],
        ]);
        answers[0].errno(&["EROFS"]);
        answers[1].errno(&["EROFS"]);
        answers[2].errno(&["ENOENT"]);
        answers[3].errno(&["EROFS"]);
        answers[4].errno(&["EBUSY", "EXDEV", "EINVAL"]);
        answers[5].errno(&["ENOENT"]);
        world.probe(act!["create", world.ws.join("./fine")]).ok();
        Snapshot::of(&world.base, &[&world.home.join(".cache"), &world.ws]).same_as(&before, "after dots");
    });
}

/// F07, the other way round: a rule whose path cannot be resolved opens nothing.
#[test]
fn f07_rules_on_paths_that_do_not_resolve() {
    each_caller(|world| {
        let file = world.file(world.outside.join("f"), "x");
        for rule in ["none/../../../outside", "none/../../../outside/f", "../../outside/none"] {
            let ran = world.run().with("--allow-write", world.ws.join(rule)).program([
                crate::support::binaries().probe.as_os_str(),
                "open-write".as_ref(),
                file.as_os_str(),
            ]);
            match ran.code() {
                125 => ran.refused_to_start(&[]),
                0 => {
                    assert_eq!(ran.out(), "errno EROFS\n", "{rule} opened something{ran}");
                    &ran
                }
                _ => panic!("{ran}"),
            };
        }
    });
}

/// F09
#[test]
fn f09_hard_links_do_not_carry_files_in() {
    each_caller(|world| {
        let outside = world.file(world.outside.join("f"), "host");
        let kept = world.file("kept", "kept");
        let hidden = world.file("hidden", "SECRET");
        let plain = world.file("plain", "plain");
        let before = Snapshot::of(&world.outside, &[]);
        let answers = world.run().with("--deny-write", &kept).with("--deny-read", &hidden).batch([
            act!["link", &outside, world.ws.join("in")],
            act!["link", &kept, world.ws.join("second")],
            act!["link", &hidden, world.ws.join("third")],
            act!["link", &plain, world.ws.join("fourth")],
            act!["write", world.ws.join("fourth")],
        ]);
        for refused in &answers[..3] {
            refused.errno(&["EXDEV", "EROFS", "EPERM", "EACCES"]);
        }
        answers[3].ok();
        answers[4].ok();
        assert_eq!(fs::read(&plain).unwrap(), b"ATTACK");
        assert_eq!(fs::read(&kept).unwrap(), b"kept");
        Snapshot::of(&world.outside, &[]).same_as(&before, "after linking");
    });
}

/// F11
#[test]
fn f11_renaming_onto_a_protected_name() {
    each_caller(|world| {
        let file = world.file("kept", "kept");
        let dir = world.dir("keptdir");
        world.file("keptdir/inner", "kept");
        let hidden = world.file("hidden", "SECRET");
        world.file("evil", "evil");
        world.file("evildir/inner", "evil");
        world.file("free", "free");
        let before = [Snapshot::of(&file, &[]), Snapshot::of(&dir, &[]), Snapshot::of(&hidden, &[])];
        let at = |name: &str| world.ws.join(name);
        let answers = world
            .run()
            .opts(["--deny-write", "kept", "--deny-write", "keptdir", "--deny-read", "hidden"])
            .batch([
                act!["rename", at("evil"), &file],
                act!["exchange", at("evil"), &file],
                act!["rename", at("evildir"), &dir],
                act!["exchange", at("evildir"), &dir],
                act!["rename", at("evil"), &hidden],
                act!["exchange", at("evil"), &hidden],
                act!["unlink", &file],
                act!["unlink", &hidden],
                act!["rename", &file, at("away")],
                act!["rename", &dir, at("awaydir")],
                act!["rename", &hidden, at("shown")],
            ]);
        for refused in &answers {
            refused.errno(&["EBUSY", "EROFS", "EXDEV"]);
        }
        answers[0].errno(&["EBUSY"]);
        answers[6].errno(&["EBUSY"]);
        let after = [Snapshot::of(&file, &[]), Snapshot::of(&dir, &[]), Snapshot::of(&hidden, &[])];
        for (after, before) in after.iter().zip(&before) {
            after.same_as(before, "after renaming onto it");
        }
        world.run().with("--deny-write", &file).probe(act!["rename", at("evil"), at("free")]).ok();
    });
}

/// F12
#[test]
fn f12_renaming_the_directories_above() {
    each_caller(|world| {
        let kept = world.file("a/b/c/kept", "kept");
        let hidden = world.file("d/e/hidden", "SECRET");
        world.file("x/y/plain", "plain");
        let at = |name: &str| world.ws.join(name);
        let answers = world.run().with("--deny-write", &kept).with("--deny-read", &hidden).batch([
            act!["rename", at("a"), at("z")],
            act!["rename", at("a/b"), at("z")],
            act!["rename", at("a/b"), at("a/z")],
            act!["rename", at("a/b/c"), at("a/b/z")],
            act!["exchange", at("a"), at("x")],
            act!["write", &kept],
            act!["read", &hidden],
            // Names beside the protected one stay free.
            act!["create", at("a/b/c/new")],
            act!["create", at("d/new")],
            act!["rename", at("x"), at("w")],
            act!["write", at("w/y/plain")],
        ]);
        for refused in &answers[..5] {
            refused.errno(&["EBUSY", "EXDEV"]);
        }
        answers[5].errno(&["EROFS"]);
        answers[6].errno(&["EACCES"]);
        for fine in &answers[7..11] {
            fine.ok();
        }
        assert_eq!(fs::read(&kept).unwrap(), b"kept");
    });
}

/// F12 in two runs: what is moved away in the first must not be readable in the second.
#[test]
fn f12_renaming_the_directories_above_a_secret() {
    each_caller(|world| {
        let hidden = world.file("d/e/hidden", "SECRET");
        let at = |name: &str| world.ws.join(name);
        let run = || world.run().with("--deny-read", &hidden);
        let answers = run().batch([
            act!["rename", at("d/e"), at("d/f")],
            act!["rename", at("d"), at("v")],
            act!["mkdir", at("free")],
            act!["exchange", at("d"), at("free")],
        ]);
        for name in ["d/e/hidden", "d/f/hidden", "v/e/hidden", "v/f/hidden", "free/e/hidden", "free/f/hidden"]
        {
            let seen = run().probe(act!["read", at(name)]);
            assert!(!seen.succeeded(), "{name} is readable in the next run{}", answers[0].ran());
        }
        for refused in [0, 1, 3] {
            answers[refused].errno(&["EBUSY", "EXDEV"]);
        }
    });
}

/// F12: the workspace itself and what lies above it.
#[test]
fn f12_the_workspace_cannot_be_moved_away() {
    each_caller(|world| {
        for answer in world.run().batch([
            act!["rename", &world.ws, world.home.join("moved")],
            act!["rename", &world.home, world.base.join("moved")],
            act!["rmdir", &world.ws],
        ]) {
            answer.errno(&["EBUSY", "EROFS"]);
        }
        assert!(world.ws.is_dir());
    });
}

/// F27
#[test]
fn f27_devices() {
    each_caller(|world| {
        let at = |name: &str| world.ws.join(name);
        let answers = world.run().batch([
            act!["mknod", at("null"), "char", "1", "3"],
            act!["mknod", at("mem"), "char", "1", "1"],
            act!["mknod", at("disk"), "block", "8", "0"],
            act!["mknod", "/dev/disk", "block", "8", "0"],
            act!["mknod", "/tmp/null", "char", "1", "3"],
            act!["mknod", at("fifo"), "fifo"],
            act!["open-both", "/dev/null"],
            act!["read", "/dev/zero"],
            act!["read", "/dev/urandom"],
        ]);
        for refused in [0, 1, 2, 4] {
            answers[refused].errno(&["EPERM"]);
        }
        answers[3].errno(&["EPERM", "EROFS", "EACCES"]);
        for fine in &answers[5..] {
            fine.ok();
        }
        assert!(!at("null").exists() && !at("disk").exists());
    });
}

#[test]
fn a_device_that_is_refused_is_on_record() {
    each_caller(|world| {
        let (path, report) = (world.ws.join("null"), world.base.join("report.json"));
        let run = world.run().with("--report", &report);
        run.batch([act!["mknod", &path, "char", "1", "3"]])[0].errno(&["EPERM"]);
        let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
        let told = &report["violations"][0];
        assert_eq!(
            (&told["kind"], &told["subject"]),
            (&"create".into(), &path.to_str().into()),
            "{report:#}"
        );
    });
}

#[test]
fn f27_only_devices_among_devices() {
    each_caller(|world| {
        let made = "echo x > /dev/zz; mkdir /dev/d; ln -s /etc/passwd /dev/l; mv /dev/shm/f /dev/f; ls /dev";
        let ran = world.run().shell(&format!("echo x > /dev/shm/f; echo x > /dev/null; {made}"));
        ran.exits(0);
        let names = ran.out();
        let unknown = ["zz", "d", "l", "f"];
        assert!(names.lines().any(|name| name == "null"), "{ran}");
        assert!(!names.lines().any(|name| unknown.contains(&name)), "{ran}");
    });
}

#[test]
fn f27_no_mount_lets_devices_or_set_uid_through() {
    each_caller(|world| {
        let answer = world.probe(["mounts"]);
        for mount in answer.words() {
            let mount = mount.into_string().unwrap();
            let mut fields = mount.rsplitn(3, ':');
            let (kind, options, path) =
                (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
            let options: Vec<&str> = options.split(',').collect();
            assert!(options.contains(&"nosuid"), "{path} has no nosuid{}", answer.ran());
            // Six harmless device nodes are bound one by one, and a terminal has to work.
            let devices = path.starts_with("/dev/") || kind == "devpts";
            assert!(devices || options.contains(&"nodev"), "{path} has no nodev{}", answer.ran());
        }
        let listed = world.probe(["list", "/dev"]);
        let known = [
            "null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "pts",
            "ptmx", "shm", "core", "console", "mqueue",
        ];
        for name in listed.words() {
            assert!(known.contains(&name.to_str().unwrap()), "/dev has {name:?}{}", listed.ran());
        }
    });
}

#[test]
fn set_user_id_programs_give_nothing() {
    each_caller(|world| {
        world.probe(["setuid"]).errno_unless_root(world);
        world.probe(["setgroups"]).errno(&["EPERM"]);
        // A program that belongs to root and is set-user-id runs, but as nobody else.
        let program =
            ["/usr/bin/su", "/bin/su", "/usr/bin/passwd"].iter().find(|path| Path::new(path).exists());
        let Some(program) = program else { return };
        let mode = world.probe(["stat", program]);
        assert!(mode.succeeded());
        let status =
            world.run().program(["/bin/sh", "-c", "exec grep -q '^NoNewPrivs:.1' /proc/self/status"]);
        status.exits(0);
    });
}

impl Answer {
    /// Becoming user 0 is no change for somebody who is user 0.
    #[track_caller]
    fn errno_unless_root(&self, world: &World) {
        match world.caller {
            Caller::Root => _ = self.ok(),
            Caller::User => _ = self.errno(&["EPERM", "EINVAL"]),
        }
    }
}
