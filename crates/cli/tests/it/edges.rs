//! Rules on odd places, mounts below mounts, very many rules.

use crate::act;
use crate::support::{Caller, World, binaries, each_caller, skip};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Denying the places a sandbox is made of ends in a clear answer, never in a fall or a hole.
#[test]
fn denying_the_ground_one_stands_on() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("f"), "SECRET");
        for place in
            ["/", "/usr", "/bin", "/lib", "/etc", "/proc", "/dev", "/tmp", "/sys", "/var", "/var/tmp", "/run"]
        {
            for option in ["--deny-read", "--deny-write"] {
                let ran = world.run().opts([option, place]).program([
                    binaries().probe.to_str().unwrap(),
                    "read",
                    secret.to_str().unwrap(),
                ]);
                assert!([0, 125, 126, 127].contains(&ran.code()), "{option} {place}{ran}");
                ran.keeps_calm();
                let covered = option == "--deny-read" && secret.starts_with(place);
                assert!(!covered || !ran.out().contains("SECRET"), "{option} {place} hides nothing{ran}");
            }
        }
    });
}

/// Somebody who opens a wide place for writing still has the mandatory protection and the deny-read list.
#[test]
fn a_wide_place_writable() {
    each_caller(|world| {
        let outside = world.file(world.outside.join("f"), "x");
        let key = world.file(world.home.join(".ssh/id_rsa"), "SECRET");
        let rc = world.file(world.home.join(".bashrc"), "host");
        let own = world.file(world.home.join(".config/stockade/settings.json"), "{}");
        let run = || world.run().with("--allow-write", &world.base);
        run().probe(act!["write", &outside]).ok();
        run().probe(act!["read", &key]).errno(&["EACCES", "ENOENT"]);
        run().probe(act!["write", &rc]).errno(&["EROFS"]);
        run().probe(act!["write", &own]).errno(&["EROFS", "EACCES"]);
        run()
            .probe(act!["rename", world.home.join(".ssh"), world.home.join("shown")])
            .errno(&["EBUSY", "EXDEV", "EROFS"]);
        run().probe(act!["rename", &world.home, world.base.join("moved")]).errno(&["EBUSY", "EXDEV"]);
        let settings = world.settings(json!({"filesystem": {"allowWrite": ["/proc", "/dev"]}}).to_string());
        let run = || world.run().with("--settings", &settings);
        for place in ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/dev/mem"] {
            let ran = run().program([binaries().probe.to_str().unwrap(), "open-write", place]);
            let refused = ["errno EROFS\n", "errno EACCES\n", "errno ENOENT\n", "errno EPERM\n"];
            assert!(ran.code() == 125 || refused.contains(&ran.out().as_str()), "{place}{ran}");
        }
    });
}

/// A pattern below a directory says nothing about other directories, whichever list it is in.
#[test]
fn patterns_stay_where_they_are_written() {
    each_caller(|world| {
        for name in ["build/deep/x.o", "other/x.o", "x.o"] {
            world.file(name, "x");
        }
        let run = || {
            let bin = binaries().probe.parent().unwrap();
            world
                .run()
                .opts(["--preset", "strict", "--allow-write", "build/**/*.o"])
                .with("--allow-read", bin)
        };
        run().probe(["open-write", "build/deep/x.o"]).ok();
        run().probe(["open-write", "other/x.o"]).errno(&["EROFS"]);
        run().probe(["open-write", "x.o"]).errno(&["EROFS"]);
        let run = || world.run().opts(["--deny-write", "build/**/*.o"]);
        run().probe(["open-write", "build/deep/x.o"]).errno(&["EROFS"]);
        run().probe(["open-write", "other/x.o"]).ok();
    });
}

/// File systems mounted below writable and below read-only places follow the rule of their place.
#[test]
fn mounts_below_mounts() {
    each_caller(|world| {
        let (inside, outside) = (world.dir("mounted"), world.dir(world.outside.join("mounted")));
        let hidden = world.dir(world.outside.join("hidden/mounted"));
        let unshare: &[&str] = match world.caller {
            Caller::Root => &["-m"],
            Caller::User => &["-r", "-m"],
        };
        let quoted = |path: &Path| format!("'{}'", path.display());
        let set_up = [&inside, &outside, &hidden]
            .map(|place| format!("mount -t tmpfs none {0} && echo mine > {0}/f", quoted(place)))
            .join(" && ");
        let stockade = format!("{} run", binaries().stockade.display());
        let deny = format!("--deny-read {}", quoted(hidden.parent().unwrap()));
        let probe = binaries().probe.display();
        let try_it = |act: &str, path: &Path| {
            let text =
                format!("{set_up} || exit 77; exec {stockade} {deny} -- {probe} {act} {}", quoted(path));
            world.bare("/usr/bin/env").opts(["unshare"]).opts(unshare).opts(["/bin/sh", "-c", &text]).go()
        };
        let ran = try_it("write", &inside.join("f"));
        if [1, 77, 127].contains(&ran.code()) {
            skip(
                &format!("edges::mounts_below_mounts ({:?} caller)", world.caller),
                "nothing can be mounted here",
            );
            return;
        }
        assert_eq!(ran.out(), "ok\n", "{ran}");
        for (act, path, expected) in [
            ("write", outside.join("f"), &["errno EROFS\n"][..]),
            ("create", outside.join("g"), &["errno EROFS\n"]),
            ("read", outside.join("f"), &["ok mine%0a\n"]),
            ("read", hidden.join("f"), &["errno EACCES\n", "errno ENOENT\n"]),
        ] {
            let ran = try_it(act, &path);
            assert!(expected.contains(&ran.out().as_str()), "{act} {}{ran}", path.display());
        }
    });
}

#[test]
fn very_many_rules() {
    each_caller(|world| {
        const COUNT: usize = 2000;
        let names: Vec<String> = (0..COUNT).map(|number| format!("many/{}/{number}", number % 50)).collect();
        for name in &names {
            world.file(name, "SECRET");
        }
        let open = world.file("many/0/open", "open");
        let (hidden, kept): (Vec<_>, Vec<_>) =
            names.iter().enumerate().partition(|(number, _)| number % 2 == 0);
        let paths = |list: Vec<(usize, &String)>| {
            list.into_iter().map(|(_, name)| world.ws.join(name)).collect::<Vec<_>>()
        };
        let (hidden, kept) = (paths(hidden), paths(kept));
        let settings =
            world.settings(json!({"filesystem": {"denyRead": hidden, "denyWrite": kept}}).to_string());
        let begun = Instant::now();
        let run = || world.run().with("--settings", &settings);
        for answer in run().batch(hidden.iter().map(|path| act!["read", path])) {
            answer.errno(&["EACCES"]);
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        for answer in run().batch(kept.iter().map(|path| act!["write", path])) {
            answer.errno(&["EROFS"]);
        }
        run().probe(act!["write", &open]).ok();
    });
}

/// A path as long as the kernel takes, and one longer.
#[test]
fn very_long_paths() {
    each_caller(|world| {
        let mut deep = world.ws.clone();
        while deep.as_os_str().len() < 3600 {
            deep.push("d".repeat(200));
        }
        fs::create_dir_all(&deep).unwrap();
        let secret = deep.join(".env");
        fs::write(&secret, "SECRET").unwrap();
        world.give_all(&world.ws);
        let ran = world.run().program([binaries().probe.to_str().unwrap(), "read", secret.to_str().unwrap()]);
        assert!(ran.code() == 125 || ran.out() == "errno EACCES\n", "{ran}");
        let endless = format!("/{}", "x/".repeat(3000));
        let ran = world.run().opts(["--deny-read", &endless]).program(["true"]);
        assert!([0, 125].contains(&ran.code()), "{ran}");
        ran.keeps_calm();
    });
}

#[test]
fn the_callers_umask_and_signals() {
    each_caller(|world| {
        let stockade = binaries().stockade.display();
        let ran =
            world.bare("/bin/sh").opts(["-c", &format!("umask 027; exec {stockade} run -- touch made")]).go();
        ran.exits(0);
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(world.ws.join("made")).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o640, "{ran}");
        // Neither ignored nor blocked: a shell cannot undo either. (It ignores 3 by itself.)
        for signal in [1, 2, 10, 12, 13, 14, 15] {
            world.run().shell(&format!("kill -{signal} $$; exit 0")).exits(128 + signal);
        }
        let ran = world.run().shell("yes | head -n 1");
        ran.exits(0);
        assert_eq!(ran.out(), "y\n", "{ran}");
    });
}

/// Root with a user's HOME, as sudo may leave it: behind walls root has no rights over what is not its own.
#[test]
fn a_home_of_somebody_else() {
    let (root, user) = (World::new(Caller::Root), World::new(Caller::User));
    if user.caller.become_ids().is_none() {
        return skip("a_home_of_somebody_else", "the suite does not run as root");
    }
    // What a run of the user's leaves.
    user.run().shell("true").exits(0);
    let closed = |path: &str| {
        let path = user.home.join(path);
        user.dir(&path);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    };
    [".cache", ".local", ".config", ".config/stockade"].into_iter().for_each(closed);
    // Often: once it hung on who was faster.
    for turn in 0..20 {
        let cache = if turn % 2 == 0 { user.home.join(".cache") } else { root.home.join("cache") };
        let run = root.run().var("HOME", &user.home).var("XDG_CACHE_HOME", &cache);
        let ran = run.shell("echo ran; ls ~/.local ~/.config/stockade");
        assert_eq!(ran.out(), "ran\n", "{ran}");
        assert_eq!(ran.err().matches("Permission denied").count(), 2, "{ran}");
    }
}
