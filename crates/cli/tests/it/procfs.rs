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
            act!["list", "/proc/1/fd"],
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
            act!["open-write", "/proc/1/oom_score_adj"],
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
        answers[1].errno(&["EACCES"]);
        for refused in &answers[2..6] {
            refused.errno(&["EROFS", "ENOENT"]);
        }
        answers[6].errno(&["EXDEV"]);
        answers[7].errno(&["EROFS"]);
        answers[8].errno(&["EXDEV", "EROFS"]);
        answers[9].errno(&["EXDEV", "EROFS", "ENOENT", "EPERM"]);
        Snapshot::of(&world.outside, &[]).same_as(&before, "after other names");
        for answer in world.run().batch([
            act!["openat2", "fresh", "plain", "c"],
            act!["openat2", "fresh", "beneath", "r"],
            act!["tmpfile", &world.ws, world.ws.join("named")],
        ]) {
            answer.ok();
        }
    });
}
