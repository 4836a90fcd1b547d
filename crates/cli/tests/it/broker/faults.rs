//! Callers with closed eyes, empty hands and many arms; and a broker that dies.

use super::records::{Records, all_fine, all_refused, reported};
use crate::act;
use crate::support::{Caller, binaries};
use crate::support::{World, each_caller, eventually, kill, processes_of};
use std::fs;
use std::time::Duration;

/// Children of a process, by name.
fn children(of: u32, name: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((own, rest)) = stat.rsplit_once(')') else { continue };
        let parent = rest.split_whitespace().nth(1).and_then(|text| text.parse().ok());
        if parent == Some(of) && own.ends_with(&format!("({name}")) {
            found.push(pid);
        }
    }
    found
}

#[test]
fn the_broker_dies() {
    each_caller(|world| {
        let live = reported(world).start(act!["churn", &world.ws, "4", "60"]);
        live.first_output(Duration::from_secs(20));
        // It comes with the first call that is held.
        eventually(Duration::from_secs(10), || match children(live.pid(), "stockade-broker")[..] {
            [broker] => kill(broker, libc::SIGKILL).map_err(|error| error.to_string()),
            ref others => Err(format!("{others:?}")),
        });
        let ran = live.finish(Duration::from_secs(20));
        assert_ne!(ran.code(), 0, "{ran}");
        // Whoever reads it knows what happened.
        ran.complains(&["broker"]);
        nothing_left(world);
        let outcome = Records::of(world).outcome().clone();
        assert_ne!(outcome["exitCode"], 0, "{outcome:#}");
    });
}

#[track_caller]
fn nothing_left(world: &World) {
    eventually(Duration::from_secs(10), || {
        let left = processes_of(&world.base);
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
}

#[test]
fn callers_closed_to_every_eye() {
    each_caller(|world| {
        let at = |name: &str| world.ws.join(name);
        let answers = reported(world).batch([
            act!["undumpable", "create", at("free")],
            act!["undumpable", "mkdir", at(".vscode")],
            act!["undumpable", "make-at", &world.ws, "open", ".envrc", at("free")],
            act!["undumpable", "create", at("sub/../.mcp.json")],
        ]);
        // Whether the free one works is the kernel's affair; the others never do.
        for answer in &answers[1..] {
            assert!(!answer.succeeded(), "{}{}", answer.asked(), answer.ran());
        }
        assert!(!at(".vscode").exists() && !at(".envrc").exists() && !at(".mcp.json").exists());
        answers[0].ok();
    });
}

#[test]
fn callers_with_few_descriptors() {
    each_caller(|world| {
        let at = |name: &str| world.ws.join(name);
        let run = || reported(world);
        run().probe(act!["limited", "8", "create", at("one")]).ok();
        run().probe(act!["limited", "8", "mkdir", at(".vscode")]).errno(&["EACCES"]);
        Records::of(world).tell("create", at(".vscode"), "protected .vscode");
        run().probe(act!["full-table", "create", at("two")]).errno(&["EMFILE"]);
        run().probe(act!["full-table", "mkdir", at("three")]).ok();
        run().probe(act!["full-table", "mkdir", at(".vscode")]).errno(&["EACCES"]);
        run().probe(act!["full-table", "rename", at("one"), at("four")]).ok();
        // git's own files want a number that a small table does not have.
        let ran =
            world.run().shell("ulimit -n 64; git init -q small; echo $?; git init -q large; ls -A small");
        assert!(!ran.out().contains("evil"), "{ran}");
        assert!(at("four").exists() && at("three").is_dir());
    });
}

#[test]
fn where_no_descriptor_is_free_nothing_is_made_or_cut() {
    each_caller(|world| {
        let script = "import os\n\
            open('keep', 'w').write('important')\n\
            held = []\n\
            try:\n  while True: held.append(os.dup(0))\n\
            except OSError: pass\n\
            for name, flags in (('new', os.O_CREAT), ('keep', os.O_CREAT | os.O_TRUNC), ('lock', os.O_CREAT | os.O_EXCL)):\n  \
            try: os.open(name, flags | os.O_WRONLY)\n  \
            except OSError as error: print(name, error.errno)\n\
            os.close(held.pop())\n\
            os.close(os.open('keep', os.O_CREAT | os.O_WRONLY))\n";
        let ran = world.run().program(["python3", "-c", script]);
        ran.exits(0);
        assert_eq!(ran.out(), "new 24\nkeep 24\nlock 24\n", "{ran}");
        assert_eq!(fs::read_to_string(world.ws.join("keep")).unwrap(), "important");
        assert!(!world.ws.join("new").exists() && !world.ws.join("lock").exists());
    });
}

#[test]
fn the_first_process_is_nobodys_to_limit() {
    each_caller(|world| {
        let script = "import os, resource\n\
            def refused(act):\n  \
            try: act(); print('done')\n  \
            except PermissionError: print('refused')\n\
            limit = resource.prlimit(0, resource.RLIMIT_NOFILE)\n\
            refused(lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, limit))\n\
            refused(lambda: os.sched_setaffinity(1, os.sched_getaffinity(0)))\n\
            refused(lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))\n\
            resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, limit)\n\
            os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0))\n\
            os.setpriority(os.PRIO_PROCESS, 0, 19)\n";
        let ran = world.run().program(["python3", "-c", script]);
        ran.exits(0);
        assert_eq!(ran.out(), "refused\nrefused\nrefused\n", "{ran}");
    });
}

#[test]
fn a_crowd_of_threads() {
    each_caller(|world| {
        let (dir, refused) = (world.dir("crowd"), world.ws.join(".vscode"));
        // All tests share the ordinary user's number of processes.
        let crowd = if world.caller == Caller::Root { "5000" } else { "1500" };
        let answer =
            reported(world).patience(Duration::from_secs(100)).probe(act!["crowd", crowd, &dir, &refused]);
        let count = |key: &str| answer.value(key).parse::<u64>().unwrap();
        assert!(count("started") > 500, "{}", answer.line());
        assert_eq!((count("failed"), count("holes")), (0, 0), "{}{}", answer.line(), answer.ran());
        assert!(!refused.exists());
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "something stayed behind");
        Records::of(world).tell("create", &refused, "protected .vscode");
    });
}

/// An act that was done is not done again because a signal came.
#[test]
fn a_thousand_signals_a_second() {
    each_caller(|world| {
        for how in ["restart", "fail"] {
            let dir = world.dir(how);
            let answer =
                world.run().patience(Duration::from_secs(60)).probe(act!["signalled", "2000", &dir, how]);
            assert_eq!(answer.value("existed"), "0", "{how}: {}{}", answer.line(), answer.ran());
            assert_eq!(answer.value("made"), "2000", "{how}: {}{}", answer.line(), answer.ran());
        }
    });
}

/// A handled signal ends the wait for the other end of a pipe, as it does without walls.
#[test]
fn a_signal_while_a_pipe_waits_for_a_reader() {
    each_caller(|world| {
        // A handled signal waits for the answer (docs/threat-model.md); a deadly one does not.
        let pipe = world.ws.join("pipe");
        world.run().probe(act!["mknod", &pipe, "fifo"]).ok();
        let words = [binaries().probe.to_str().unwrap(), "opened", pipe.to_str().unwrap(), "w", "0"];
        world.run().with("--timeout", "1").patience(Duration::from_secs(10)).program(words).exits(137);
    });
}

/// As many waiting pipes as one likes stop nobody.
#[test]
fn a_hundred_pipes_without_a_reader() {
    each_caller(|world| {
        let script = "import os, threading, time\n\
            for i in range(100): os.mkfifo('p%d' % i)\n\
            bad = []\n\
            def go(i):\n    \
                try: os.close(os.open('p%d' % i, os.O_WRONLY))\n    \
                except OSError as e: bad.append(e.errno)\n\
            all = [threading.Thread(target=go, args=(i,)) for i in range(100)]\n\
            [t.start() for t in all]; time.sleep(0.5); begun = time.time()\n\
            for i in range(100): open('f%d' % i, 'w').close()\n\
            slow = time.time() - begun > 3\n\
            ends = [os.open('p%d' % i, os.O_RDONLY) for i in range(100)] if not bad else []\n\
            [t.join(5) for t in all] if not bad else None\n\
            print('slow' if slow else 'fast', sorted(set(bad)), any(t.is_alive() for t in all), flush=True)\n\
            os._exit(0)\n";
        let ran = world.run().patience(Duration::from_secs(30)).program(["/usr/bin/python3", "-c", script]);
        assert_eq!(ran.out(), "fast [] False\n", "{ran}");
    });
}

#[test]
fn children_of_children() {
    each_caller(|world| {
        let ran = world.run().shell(
            "i=0; while [ $i -lt 300 ]; do (sh -c 'exec sh -c \"exec sh -c \\\"echo x > v$0\\\" $0\" $0' $i) || exit 9; \
             i=$((i+1)); done; mkdir .vscode 2>/dev/null && exit 8; ls v* | wc -l",
        );
        ran.exits(0);
        assert_eq!(ran.out().trim(), "300", "{ran}");
    });
}

/// Callers die in the middle of their work; the next ones are served.
#[test]
fn callers_killed_in_the_middle() {
    each_caller(|world| {
        let dir = world.dir("dying");
        let script = "for i in 1 2 3 4 5 6 7 8 9 10; do timeout -s KILL 0.1 $0 churn dying 4 60 >/dev/null; done; \
                      mkdir .vscode 2>/dev/null && exit 8; echo fine > after; cat after";
        let probe = &crate::support::binaries().probe;
        let ran = world.run().patience(Duration::from_secs(30)).program([
            std::ffi::OsStr::new("sh"),
            "-c".as_ref(),
            script.as_ref(),
            probe.as_os_str(),
        ]);
        ran.exits(0);
        assert!(ran.out().contains("fine"), "{ran}");
        // Whatever is there is the command's own.
        for entry in fs::read_dir(&dir).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            assert!(name.starts_with('c') && !name.ends_with(".lock"), "{name}");
        }
    });
}

/// A program whose memory nobody may read.
#[test]
fn programs_nobody_may_read() {
    each_caller(|world| {
        let tool = world.ws.join("tool");
        fs::copy(&crate::support::binaries().probe, &tool).unwrap();
        world.give(&tool);
        std::os::unix::fs::PermissionsExt::set_mode(&mut fs::metadata(&tool).unwrap().permissions(), 0o111);
        fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o111)).unwrap();
        let ran = world.run().program([tool.as_os_str(), "mkdir".as_ref(), ".vscode".as_ref()]);
        assert!(!world.ws.join(".vscode").exists(), "{ran}");
        let answers = world.run().batch([act!["create", world.ws.join("fine")]]);
        all_fine(&answers);
        all_refused(&world.run().batch([act!["mkdir", world.ws.join(".vscode")]]));
    });
}
