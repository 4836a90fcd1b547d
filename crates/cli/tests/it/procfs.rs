//! F16: roads through /proc, and other ways to name a file.

use crate::act;
use crate::support::{Snapshot, each_caller};

#[test]
fn f16_own_root_and_working_directory() {
    each_caller(|world| {
        let hidden = world.file(world.outside.join("hidden"), "SECRET");
        let plain = world.file(world.outside.join("plain"), "plain");
        let inside = world.file("inside", "inside");
        let before = Snapshot::of(&world.outside, &[]);
        let through = |prefix: &str, path: &std::path::Path| format!("{prefix}{}", path.display());
        let mut acts = Vec::new();
        for prefix in [
            "/proc/self/root",
            "/proc/thread-self/root",
            "/proc/self/task/../root",
            "/proc/self/cwd/../../..",
        ] {
            let tail = |path: &std::path::Path| {
                if prefix.ends_with("..") {
                    // From the workspace three steps up is the directory the world lies in.
                    through(
                        prefix,
                        &path
                            .strip_prefix("/var/tmp")
                            .map(|rest| std::path::Path::new("/").join(rest))
                            .unwrap(),
                    )
                } else {
                    through(prefix, path)
                }
            };
            acts.push(act!["read", tail(&hidden)]);
            acts.push(act!["write", tail(&plain)]);
            acts.push(act!["create", tail(&world.outside.join("new"))]);
            acts.push(act!["read", tail(&plain)]);
            acts.push(act!["open-write", tail(&inside)]);
        }
        let answers = world.run().with("--deny-read", &hidden).batch(acts);
        for five in answers.chunks(5) {
            five[0].errno(&["EACCES"]);
            five[1].errno(&["EROFS"]);
            five[2].errno(&["EROFS"]);
            five[3].ok();
            five[4].ok();
        }
        Snapshot::of(&world.outside, &[]).same_as(&before, "after going through /proc");
    });
}

#[test]
fn f16_the_first_process_shows_nothing() {
    each_caller(|world| {
        let answers = world.run().batch([
            act!["list", "/proc/1/root"],
            act!["list", "/proc/1/cwd"],
            act!["list", "/proc/1/map_files"],
            act!["read", "/proc/1/environ"],
            act!["read", "/proc/1/mem"],
            act!["read", "/proc/1/maps"],
            act!["readlink", "/proc/1/root"],
            act!["readlink", "/proc/1/cwd"],
            act!["readlink", "/proc/1/exe"],
            act!["readlink", "/proc/1/ns/mnt"],
            act!["readlink", "/proc/1/fd/0"],
            act!["read", "/proc/1/root/etc/shadow"],
            act!["open-write", "/proc/1/mem"],
        ]);
        for answer in answers {
            answer.errno(&["EACCES", "EPERM", "EROFS"]);
        }
        // The same looks at oneself work.
        for answer in world.run().batch([
            act!["list", "/proc/self/root"],
            act!["list", "/proc/self/fd"],
            act!["read", "/proc/self/environ"],
            act!["read", "/proc/self/maps"],
            act!["readlink", "/proc/self/exe"],
            act!["open-write", "/proc/self/oom_score_adj"],
        ]) {
            answer.ok();
        }
    });
}

#[test]
fn f16_no_process_of_the_host_is_seen() {
    each_caller(|world| {
        let answer = world.probe(["processes"]);
        let seen: Vec<u32> =
            answer.words().iter().map(|pid| pid.to_str().unwrap().parse().unwrap()).collect();
        assert!(seen.contains(&1), "no first process{}", answer.ran());
        assert!(seen.len() <= 4, "more processes than the first one and the command{}", answer.ran());
        let own = std::process::id().to_string();
        world.probe(["list", &format!("/proc/{own}")]).errno(&["ENOENT"]);
        assert!(world.outside_probe(["list", &format!("/proc/{own}/task")]).succeeded());
    });
}

/// I26 and its relatives: the parts of /proc that act on the machine.
#[test]
fn i26_machine_wide_switches() {
    each_caller(|world| {
        let writes = [
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/modprobe",
            "/proc/sys/kernel/hostname",
            "/proc/sys/kernel/ns_last_pid",
            "/proc/sys/vm/drop_caches",
            "/proc/sys/fs/binfmt_misc/register",
            "/proc/sys/net/ipv4/ip_forward",
            "/proc/sysrq-trigger",
            "/proc/irq/default_smp_affinity",
            "/proc/mtrr",
            "/sys/power/state",
            "/sys/kernel/uevent_helper",
            "/sys/kernel/profiling",
        ];
        for answer in world.run().batch(writes.map(|path| act!["open-write", path])) {
            answer.errno(&["EROFS", "EACCES", "ENOENT", "EPERM"]);
        }
        let reads = [
            "/proc/kcore",
            "/proc/keys",
            "/proc/kmsg",
            "/proc/kpagecount",
            "/proc/acpi/wakeup",
            "/dev/mem",
            "/dev/kmsg",
            "/dev/port",
        ];
        for answer in world.run().batch(reads.map(|path| act!["read", path])) {
            answer.errno(&["EACCES", "ENOENT", "EPERM", "ENXIO"]);
        }
        for answer in world.run().batch([
            act!["read", "/proc/sys/kernel/ostype"],
            act!["read", "/proc/cpuinfo"],
            act!["read", "/proc/meminfo"],
            act!["read", "/proc/self/stat"],
            act!["read", "/proc/uptime"],
        ]) {
            answer.ok();
        }
    });
}

/// Handles, resolve flags and nameless files are further names for a file.
#[test]
fn other_ways_to_name_a_file() {
    each_caller(|world| {
        let hidden = world.file(world.outside.join("hidden"), "SECRET");
        let plain = world.file(world.outside.join("plain"), "plain");
        let before = Snapshot::of(&world.outside, &[]);
        let answers = world.run().with("--deny-read", &hidden).batch([
            act!["handle-open", &plain],
            act!["openat2", &hidden, "plain", "r"],
            act!["openat2", &plain, "plain", "w"],
            act!["openat2", world.outside.join("new"), "plain", "c"],
            act!["openat2", &plain, "in-root", "w"],
            act!["openat2", "../../outside/plain", "plain", "w"],
            act!["openat2", "../../outside/plain", "beneath", "r"],
            act!["tmpfile", &world.outside, world.outside.join("new")],
            act!["tmpfile", &world.ws, world.outside.join("new")],
            act!["tmpfile-empty-path", &world.ws, world.outside.join("new")],
        ]);
        answers[0].errno(&["EPERM"]);
        // The mode of a file it makes lies where no filter can read it, so it is not there at all.
        for refused in &answers[1..7] {
            refused.errno(&["ENOSYS"]);
        }
        answers[7].errno(&["EROFS"]);
        answers[8].errno(&["EXDEV", "EROFS"]);
        answers[9].errno(&["EXDEV", "EROFS", "ENOENT", "EPERM"]);
        Snapshot::of(&world.outside, &[]).same_as(&before, "after other names");
        for answer in
            world.run().batch([act!["create", "fresh"], act!["tmpfile", &world.ws, world.ws.join("named")]])
        {
            answer.ok();
        }
    });
}

/// Whatever else the kernel shows below /proc: nobody inside writes to it, and what only root may read on
/// the host stays closed even for a caller who is root.
#[test]
fn i26_nothing_machine_wide_in_proc() {
    each_caller(|world| {
        let mut all = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // Stall monitors are made for everybody.
            let own = name.parse::<u32>().is_ok()
                || ["self", "thread-self", "net", "mounts", "pressure"].contains(&name.as_str());
            if !own {
                gather(&entry.path(), 4, &mut all);
            }
        }
        assert!(all.len() > 100, "{all:?}");
        let answers = world.run().batch(all.iter().map(|(path, _)| act!["open-write", path]));
        let open: Vec<&str> =
            answers.iter().filter(|answer| answer.succeeded()).map(|answer| answer.asked()).collect();
        assert!(open.is_empty(), "writable:\n{}", open.join("\n"));
        // Switches of the kernel tell how it is set, nothing more.
        let private: Vec<_> = all
            .iter()
            .filter(|(path, mode)| mode & 0o077 == 0 && !path.starts_with("/proc/sys"))
            .map(|(path, _)| path)
            .collect();
        // A read of a trigger could wait for an event; opening is enough to know.
        let answers = world.run().batch(private.iter().map(|path| act!["openat2", path, "plain", "r"]));
        let open: Vec<&str> =
            answers.iter().filter(|answer| answer.succeeded()).map(|answer| answer.asked()).collect();
        assert!(open.is_empty(), "readable:\n{}", open.join("\n"));
    });
}

/// Files below a directory with their modes; links are not followed.
fn gather(path: &std::path::Path, depth: u32, found: &mut Vec<(std::path::PathBuf, u32)>) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(data) = path.symlink_metadata() else { return };
    if data.is_file() {
        found.push((path.to_path_buf(), data.permissions().mode()));
    } else if data.is_dir() && depth > 0 {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            gather(&entry.path(), depth - 1, found);
        }
    }
}

/// The sandbox has its own devices and processes, and rules about the host's change nothing.
#[test]
fn rules_about_devices_and_processes() {
    each_caller(|world| {
        let run = |path: &str| world.run().with("--allow-read", path).with("--allow-write", path);
        for path in
            ["/dev/null", "/dev/tty", "/dev/random", "/dev/stdout", "/proc/self/status", "/proc/cpuinfo"]
        {
            let ran = run(path).shell("echo x > /dev/null && head -c 1 /dev/random > /dev/null");
            ran.exits(0);
            assert_eq!(ran.err(), "", "{path}{ran}");
        }
        for path in ["/proc/1/status", "/dev/console"] {
            if std::path::Path::new(path).exists() {
                run(path).shell("exit 0").exits(0).complains(&[path, "has no effect"]);
            }
        }
        let explained = |path: &str| world.stockade().opts(["explain", path]).go().exits(0).out();
        let text = explained("/dev/null");
        assert!(text.contains("read     yes") && text.contains("write    yes"), "{text}");
        let text = explained("/proc/1/environ");
        assert!(text.contains("read     no") && !text.contains("--allow-read"), "{text}");
        // A quoted tilde is the home directory, as it is in a rule.
        let text = explained("~/zz");
        assert!(text.starts_with(&format!("{}/zz\n", world.home.display())), "{text}");
    });
}
