//! Beginnings and ends: exit statuses, cancelling, time-outs, killed launchers, nothing left behind.

use crate::support::{
    Live, Snapshot, World, binaries, each_caller, eventually, kill, mounts_of, processes_of,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// Long enough for a busy machine, short enough to notice a leftover.
const SOON: Duration = Duration::from_secs(10);

/// After this the launcher has seen that its command runs.
const SETTLED: Duration = Duration::from_millis(100);

#[test]
fn every_exit_status_is_the_commands_own() {
    each_caller(|world| {
        let probe = binaries().probe.to_str().unwrap();
        for code in 0..=255 {
            let code = code.to_string();
            let ran = world.run().program([probe, "exit", &code]);
            assert_eq!(ran.status.code().map(|code| code.to_string()), Some(code), "{ran}");
        }
    });
}

#[test]
fn deaths_by_signal() {
    each_caller(|world| {
        let probe = binaries().probe.to_str().unwrap();
        for signal in [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 31] {
            world.run().program([probe, "raise", &signal.to_string()]).exits(128 + signal);
        }
        // The same below a shell that reports it as its own status.
        world.run().shell(&format!("{probe} raise 11; exit $?")).exits(139);
    });
}

#[test]
fn programs_that_cannot_be_started() {
    each_caller(|world| {
        let plain = world.file("plain", "#!/bin/sh\nexit 3\n");
        let broken = world.script("broken", "#!/nonexistent/interpreter\n");
        let masked = world.script(world.home.join(".aws/tool"), "#!/bin/sh\nexit 3\n");
        world.run().program(["no-such-program-here"]).exits(127).complains(&["no-such-program-here"]);
        world.run().program(["/no/such/path"]).exits(127).complains(&["/no/such/path"]);
        world.run().program([&plain]).exits(126).complains(&["plain"]);
        world.run().program([&world.ws]).exits(126);
        world.run().program([&broken]).exits(127);
        world.run().program([&masked]).exits(126);
        world.run().shell("no-such-program-here").exits(127);
        world.run().shell("./plain").exits(126);
        world.run().program(["./relative"]).exits(127);
        world.script("relative", "#!/bin/sh\nexit 4\n");
        world.run().program(["./relative"]).exits(4);
        world.run().program([""]).keeps_calm();
    });
}

/// Words reach the program exactly.
#[test]
fn words_are_not_touched() {
    each_caller(|world| {
        let words =
            ["", " ", "a b", "--", "-c", "--settings", "*", "$HOME", "`id`", "new\nline", "ü", "\\", "'\""];
        let script = world.script("show", "#!/bin/sh\nfor word; do printf '<%s>' \"$word\"; done\n");
        let ran = world.run().program([script.to_str().unwrap()].into_iter().chain(words));
        ran.exits(0);
        let expected: String = words.iter().map(|word| format!("<{word}>")).collect();
        assert_eq!(ran.out(), expected, "{ran}");
        // Without `--` the first word ends the options.
        let ran = world.run().opt(&script).opts(["-v", "--preset"]).go();
        assert_eq!(ran.out(), "<-v><--preset>", "{ran}");
    });
}

/// Nothing that belongs to this world is left on the machine.
#[track_caller]
fn nothing_left(world: &World, when: &str) {
    eventually(SOON, || match processes_of(&world.base).as_slice() {
        [] => Ok(()),
        left => Err(format!("{when}: processes left: {left:?}")),
    });
    let place = world.base.to_str().unwrap();
    assert_eq!(mounts_of(place), Vec::<String>::new(), "{when}: mounts left");
}

/// Everything of the world that a run must not change. Tools' caches live on by design.
fn picture(world: &World) -> Snapshot {
    Snapshot::of(&world.base, &[&world.home.join(".cache")])
}

fn own_cgroups() -> Vec<PathBuf> {
    fn look(dir: &Path, depth: u32, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_dir && entry.file_name().to_string_lossy().contains("stockade") {
                found.push(entry.path());
            } else if is_dir && depth > 0 {
                look(&entry.path(), depth - 1, found);
            }
        }
    }
    let mut found = Vec::new();
    look(Path::new("/sys/fs/cgroup"), 3, &mut found);
    found
}

/// F03
#[test]
fn f03_the_launcher_is_killed_while_the_command_runs() {
    each_caller(|world| {
        world.file("src/main", "text");
        world.file(".env", "SECRET");
        world.file(".git/config", "[core]\n");
        world.file(".git/hooks/pre-commit", "#!/bin/sh\n");
        world.file(world.home.join(".ssh/id_rsa"), "SECRET");
        world.file(world.home.join(".ssh/known_hosts"), "open");
        // The first start makes the cache directory.
        world.run().program(["true"]).exits(0);
        let before = picture(world);
        let live = world.run().start(["hold", "5"]);
        live.first_output(SOON);
        picture(world).same_as(&before, "while the command runs");
        kill(live.pid(), SIGKILL).unwrap();
        live.reap();
        nothing_left(world, "after SIGKILL of the launcher");
        picture(world).same_as(&before, "after SIGKILL of the launcher");
    });
}

/// F03 at every moment of the start, and after it.
#[test]
fn f03_the_launcher_is_killed_at_random_moments() {
    each_caller(|world| {
        world.file("a/.env", "SECRET");
        world.file("a/b/kept", "kept");
        world.file(world.home.join(".ssh/id_rsa"), "SECRET");
        world.run().program(["true"]).exits(0);
        let before = picture(world);
        let cgroups = own_cgroups();
        // Spread over the whole start without a source of chance: 0 to 15 ms in steps that never align.
        for turn in 0..100_u64 {
            let live = world.run().opts(["--deny-write", "kept"]).start(["hold", "3"]);
            sleep(Duration::from_micros(turn.wrapping_mul(7919) % 15_000));
            if turn % 5 == 0 {
                live.first_output(SOON);
            }
            kill(live.pid(), SIGKILL).unwrap();
            live.reap();
            if turn % 10 == 9 {
                nothing_left(world, &format!("turn {turn}"));
            }
        }
        nothing_left(world, "at the end");
        picture(world).same_as(&before, "after a hundred killed launchers");
        assert_eq!(own_cgroups(), cgroups, "cgroups left");
        world.run().program(["true"]).exits(0);
    });
}

/// The process that is number 1 inside.
fn first_process(world: &World, live: &Live) -> u32 {
    let is_first = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| {
            line.starts_with("NSpid:") && line.split_whitespace().count() > 2 && line.ends_with("\t1")
        })
    };
    let all = processes_of(&world.base);
    let found: Vec<u32> =
        all.iter().map(|(pid, _)| *pid).filter(|pid| *pid != live.pid()).filter(is_first).collect();
    assert_eq!(found.len(), 1, "one first process among {all:?}");
    found[0]
}

#[test]
fn the_first_process_is_killed() {
    each_caller(|world| {
        // The workspace's path in the command line is how the process is found.
        let live = world.run().with("--cwd", &world.ws).start(["hold", "3"]);
        live.first_output(SOON);
        // A command may print before its start was told, and who is killed then has not told it.
        sleep(Duration::from_millis(100));
        kill(first_process(world, &live), SIGKILL).unwrap();
        let ran = live.finish(SOON);
        ran.exits(137).complains(&["the sandbox was ended from outside or ran out of memory"]).keeps_calm();
        nothing_left(world, "after SIGKILL of the first process");
        // A command that ends itself is its own business.
        let ran = world.run().shell("kill -9 $$");
        assert_eq!((ran.code(), ran.err().as_str()), (137, ""), "{ran}");
    });
}

/// Some of what needs a descriptor panics without one.
#[test]
fn too_few_descriptors_are_told_before_anything() {
    each_caller(|world| {
        let stockade = binaries().stockade.display();
        for limit in [6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24] {
            let line = format!("ulimit -n {limit}; exec {stockade} run -q -c 'echo ok'");
            let ran = world.bare("/bin/sh").opts(["-c", &line]).go();
            ran.exits(125)
                .complains(&["files that may be open at once", "hint: raise the limit: ulimit -n 64"]);
            assert_eq!(ran.out(), "", "{ran}");
            ran.keeps_calm();
        }
        let line = format!("ulimit -n 64; exec {stockade} run -q -c 'echo ok'");
        assert_eq!(world.bare("/bin/sh").opts(["-c", &line]).go().exits(0).out(), "ok\n");
    });
}

#[test]
fn a_time_out_kills_everything() {
    each_caller(|world| {
        let marker = world.ws.join("marker");
        let report = world.base.join("report.json");
        let probe = binaries().probe.display();
        let script = format!("{probe} daemon {} 60; {probe} hold 5", marker.display());
        let ran = world.run().opts(["--timeout", "0.5"]).with("--report", &report).shell(&script);
        ran.exits(137);
        assert!(ran.took < Duration::from_secs(5), "{ran}");
        nothing_left(world, "after the time-out");
        no_longer_beats(&marker);
        let report = json(&report);
        assert_eq!(report["exit"]["how"], "timedOut", "{report}");
        assert_eq!(report["exitCode"], 137, "{report}");
        world.run().opts(["--timeout", "30"]).program(["true"]).exits(0);
    });
}

#[track_caller]
fn no_longer_beats(marker: &Path) {
    let one = fs::read(marker).unwrap_or_default();
    sleep(Duration::from_millis(100));
    assert_eq!(fs::read(marker).unwrap_or_default(), one, "somebody still writes");
}

#[track_caller]
fn json(path: &Path) -> serde_json::Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn cancelling() {
    each_caller(|world| {
        for (signal, status) in [(SIGTERM, 143), (SIGINT, 130)] {
            let report = world.base.join("report.json");
            let live = world.run().with("--report", &report).start(["hold", "4"]);
            live.first_output(SOON);
            sleep(SETTLED);
            kill(live.pid(), signal).unwrap();
            live.finish(SOON).exits(status);
            nothing_left(world, "after cancelling");
            let report = json(&report);
            assert_eq!(report["exit"]["how"], "cancelled", "{report}");
            assert_eq!(report["exit"]["signal"], signal, "{report}");
        }
        // A command that will not listen is killed a little later.
        let script = "trap '' TERM INT; echo ready; while :; do sleep 1; done";
        let live = world.run().opts(["-c", script]).start_words();
        live.first_output(SOON);
        sleep(SETTLED);
        kill(live.pid(), SIGTERM).unwrap();
        let ran = live.finish(SOON);
        ran.exits(143);
        nothing_left(world, "after cancelling somebody deaf");
        // A command that tidies up and calls it a success was still cancelled.
        let script = "trap 'touch tidied; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
        let live = world.run().opts(["-c", script]).start_words();
        live.first_output(SOON);
        sleep(SETTLED);
        kill(live.pid(), SIGTERM).unwrap();
        let ran = live.finish(SOON);
        ran.exits(143);
        assert!(world.ws.join("tidied").exists(), "the command had no chance to tidy up{ran}");
    });
}

/// A signal that comes while everything is only just starting.
#[test]
fn cancelling_at_any_moment() {
    each_caller(|world| {
        let report = world.base.join("report.json");
        for turn in 0..40_u64 {
            let _ = fs::remove_file(&report);
            let live = world.run().with("--report", &report).start(["hold", "2"]);
            let saw_it_run = turn % 2 == 0;
            if saw_it_run {
                live.first_output(SOON);
            } else {
                sleep(Duration::from_micros(turn.wrapping_mul(7919) % 20_000));
            }
            kill(live.pid(), SIGTERM).unwrap();
            let ran = live.finish(SOON);
            // Before anything is set up the signal itself may end the launcher: a shell sees the same.
            assert_eq!(ran.code(), 143, "turn {turn}{ran}");
            if saw_it_run {
                assert!(report.exists(), "turn {turn}: the command ran, and there is no report{ran}");
                assert_eq!(json(&report)["exit"]["how"], "cancelled", "turn {turn}");
            }
        }
        nothing_left(world, "after cancelling at any moment");
    });
}

/// Background leftovers keep the pipes open, hear no signal, have their own session.
#[test]
fn leftovers_neither_delay_nor_survive() {
    each_caller(|world| {
        let marker = world.ws.join("marker");
        let begun = Instant::now();
        let probe = binaries().probe.display();
        // Waits until the leftover is really at work.
        let script = format!(
            "{probe} daemon {0} 60; while ! test -s {0}; do sleep 0.01; done; exit 3",
            marker.display()
        );
        world.run().shell(&script).exits(3);
        assert!(begun.elapsed() < Duration::from_secs(5), "the leftover delayed the end");
        nothing_left(world, "after the end of the command");
        no_longer_beats(&marker);
        world.run().shell("sleep 60 & sleep 60 & exit 0").exits(0);
        nothing_left(world, "after background jobs");
    });
}

#[test]
fn a_hundred_sandboxes_at_once() {
    each_caller(|world| {
        let all: Vec<(usize, Live)> = (0..100)
            .map(|number| {
                let text = format!("echo {number} > out-{number}; sleep 0.3; cat out-{number}");
                (number, world.run().opts(["-c", &text]).start_words())
            })
            .collect();
        for (number, live) in all {
            let ran = live.finish(Duration::from_secs(60));
            ran.exits(0);
            assert_eq!(ran.out(), format!("{number}\n"), "{ran}");
        }
        nothing_left(world, "after a hundred sandboxes");
    });
}

#[test]
fn output_is_cut_and_the_command_goes_on() {
    each_caller(|world| {
        let report = world.base.join("report.json");
        let ran = world
            .run()
            .opts(["--max-output", "1000"])
            .with("--report", &report)
            .shell("head -c 5000000 /dev/zero; touch done-writing; exit 5");
        ran.exits(5);
        assert_eq!(ran.stdout.len(), 1000, "{ran}");
        assert!(world.ws.join("done-writing").exists());
        assert_eq!(json(&report)["truncated"], true);
        let ran = world
            .run()
            .opts(["--max-output", "1k"])
            .with("--report", &report)
            .shell("head -c 1024 /dev/zero");
        assert_eq!(ran.stdout.len(), 1024, "{ran}");
        assert_eq!(json(&report)["truncated"], false);
    });
}

#[test]
fn reports_and_events() {
    each_caller(|world| {
        let (report, events) = (world.base.join("report.json"), world.base.join("events.ndjson"));
        let ran = world.run().with("--report", &report).with("--events", &events).shell("echo out; exit 7");
        ran.exits(7);
        assert_eq!(ran.out(), "out\n", "{ran}");
        let outcome = json(&report);
        assert_eq!(outcome["exit"], serde_json::json!({"how": "code", "code": 7}), "{outcome}");
        assert_eq!(outcome["exitCode"], 7);
        assert_eq!(outcome["sandboxed"], true);
        assert_eq!(outcome["kind"], "native");
        assert_eq!(outcome["blocked"], false);
        assert_eq!(outcome["violations"], serde_json::json!([]));
        for key in ["durationMs", "usage", "enforcement", "truncated"] {
            assert!(!outcome[key].is_null(), "{key} is missing: {outcome}");
        }
        let layers = outcome["enforcement"].as_array().unwrap();
        for wall in [
            "userNamespace",
            "mountNamespace",
            "pidNamespace",
            "networkNamespace",
            "landlock",
            "seccomp",
            "privileges",
        ] {
            let state = layers.iter().find(|layer| layer["layer"] == wall).map(|layer| &layer["state"]);
            assert_eq!(state, Some(&"enforced".into()), "{wall}: {outcome}");
        }
        let text = fs::read_to_string(&events).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.first().unwrap()["type"], "started", "{text}");
        assert_eq!(lines.last().unwrap()["type"], "exited", "{text}");
        assert_eq!(lines.last().unwrap()["exitCode"], 7, "{text}");
        // A descriptor of the caller's does as well, and is not handed on.
        let (reader, writer) = std::io::pipe().unwrap();
        let answer = world.run().holding(writer, 7).opts(["--events", "fd:7"]).probe(["fds"]);
        assert_eq!(answer.ok(), "0 1 2", "{}", answer.ran());
        let heard = std::io::read_to_string(reader).unwrap();
        assert!(heard.lines().count() >= 2, "{heard}");
    });
}

#[test]
fn reports_of_failures() {
    each_caller(|world| {
        let report = world.base.join("report.json");
        world.run().with("--report", &report).program(["no-such-program-here"]).exits(127);
        let outcome = json(&report);
        assert_eq!(outcome["exit"], serde_json::json!({"how": "notStarted", "errno": 2}), "{outcome}");
        world
            .run()
            .with("--report", &report)
            .program([binaries().probe.to_str().unwrap(), "raise", "11"])
            .exits(139);
        let outcome = json(&report);
        assert_eq!(outcome["exit"], serde_json::json!({"how": "signal", "signal": 11}), "{outcome}");
        // A place that cannot be written is an error before anything runs.
        let ran = world.run().opts(["--report", "/nonexistent/report.json"]).program(["touch", "ran"]);
        ran.refused_to_start(&["/nonexistent/report.json"]);
        let ran = world.run().opts(["--events", "/nonexistent/events"]).program(["touch", "ran"]);
        ran.refused_to_start(&["/nonexistent/events"]);
        world.run().opts(["--events", "fd:77"]).program(["touch", "ran"]).refused_to_start(&["77"]);
        assert!(!world.ws.join("ran").exists());
    });
}
