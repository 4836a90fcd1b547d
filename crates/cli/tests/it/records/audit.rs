//! The audit log of real runs.

use super::{kinds, logged, state, text};
use crate::support::{World, each_caller, eventually, kill, processes_of};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

#[track_caller]
fn is_sound(world: &World) {
    world.stockade().opts(["audit", "verify"]).go().exits(0);
}

#[test]
fn a_run_is_a_start_its_refusals_and_an_end() {
    each_caller(|world| {
        let line = format!("mkdir {}/d; exit 3", world.outside.display());
        world.run().shell(&line).exits(3);
        let log = logged(world);
        assert_eq!(kinds(world), ["start", "refusal", "end"]);
        let [start, refusal, end] = &log[..] else { panic!("{log:#?}") };
        assert!(text(&start["command"]).ends_with(&line), "{start:#}");
        assert_eq!(start["cwd"], world.ws.to_str().unwrap());
        assert_eq!(start["preset"], "default");
        assert_eq!(text(&start["policy"]).len(), 64, "{start:#}");
        assert_eq!(refusal["violation"]["subject"], world.outside.join("d").to_str().unwrap());
        assert_eq!((&end["exitCode"], &end["exit"]), (&json!(3), &json!({"how": "code", "code": 3})));
        for name in [&refusal["violation"]["sandbox"], &end["sandbox"]] {
            assert_eq!(name, &start["sandbox"]);
        }
        // The same rules have the same digest, others another.
        world.run().shell("true").exits(0);
        world.run().opts(["--deny-write", "x"]).shell("true").exits(0);
        let digests: Vec<Value> = logged(world)
            .iter()
            .filter(|line| line["kind"] == "start")
            .map(|line| line["policy"].clone())
            .collect();
        assert!(digests[0] == digests[1] && digests[1] != digests[2], "{digests:?}");
        is_sound(world);
    });
}

#[test]
fn the_first_line_is_written_before_the_command_runs() {
    each_caller(|world| {
        let live = world.run().opts(["-c", "echo here; sleep 60"]).start_words();
        live.first_output(PATIENCE);
        assert_eq!(kinds(world), ["start"]);
    });
}

#[test]
fn other_ends() {
    each_caller(|world| {
        world.run().program(["no-such-program-here"]).exits(127);
        world.run().with("--timeout", "0.2").shell("sleep 60").exits(137);
        let ends: Vec<Value> = logged(world)
            .into_iter()
            .filter(|line| line["kind"] == "end")
            .map(|line| line["exit"].clone())
            .collect();
        assert_eq!(ends, [json!({"how": "notStarted", "errno": 2}), json!({"how": "timedOut"})]);
        is_sound(world);
    });
}

#[test]
fn runs_without_walls_are_in_it() {
    each_caller(|world| {
        world.run().with("--preset", "unrestricted").shell("exit 2").exits(2);
        assert_eq!(kinds(world), ["bareRun", "end"]);
        let log = logged(world);
        assert!(text(&log[0]["reason"]).contains("unrestricted"), "{log:#?}");
        assert_eq!(log[0]["sandbox"], log[1]["sandbox"]);
        assert_eq!(log[1]["exitCode"], 2);
    });
}

#[test]
fn who_wants_none_has_none() {
    each_caller(|world| {
        let settings = world.settings(json!({"audit": "off"}).to_string());
        world.run().with("--settings", &settings).shell("true").exits(0);
        assert!(!state(world).join("audit.jsonl").exists());
        // A project may not switch it off.
        world.file(".stockade.json", json!({"audit": "off"}).to_string());
        world.run().shell("true").exits(0);
        assert_eq!(kinds(world), ["start", "end"]);
    });
}

#[test]
fn tampering_is_found() {
    each_caller(|world| {
        for _ in 0..3 {
            world.run().shell("true").exits(0);
        }
        is_sound(world);
        let log = state(world).join("audit.jsonl");
        let good = fs::read_to_string(&log).unwrap();
        let lines: Vec<&str> = good.lines().collect();
        let without = |gone: usize| {
            let left: Vec<&str> =
                lines.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, line)| *line).collect();
            left.join("\n") + "\n"
        };
        for (what, changed) in [
            ("a changed status", good.replacen("\"exitCode\":0", "\"exitCode\":1", 1)),
            ("a removed line", without(2)),
            ("a removed first line", without(0)),
            ("a removed last line", without(5)),
            ("nothing left", String::new()),
        ] {
            fs::write(&log, changed).unwrap();
            let ran = world.stockade().opts(["audit", "verify"]).go();
            assert_eq!(ran.code(), 1, "{what}{ran}");
        }
        fs::write(&log, &good).unwrap();
        is_sound(world);
    });
}

#[test]
fn runs_at_once_share_a_log() {
    each_caller(|world| {
        let line = format!("for i in 1 2 3 4 5; do mkdir {}/$i; done; exit 0", world.outside.display());
        let live: Vec<_> = (0..4).map(|_| world.run().opts(["-q", "-c", &line]).start_words()).collect();
        for run in live {
            run.finish(PATIENCE).exits(0);
        }
        let kinds = kinds(world);
        for (kind, count) in [("start", 4), ("refusal", 20), ("end", 4)] {
            assert_eq!(kinds.iter().filter(|known| *known == kind).count(), count, "{kinds:?}");
        }
        is_sound(world);
        assert_eq!(super::stored(world, &[]).len(), 20);
    });
}

/// An end may be missing then. That is no fault of the log.
#[test]
fn a_killed_launcher_leaves_a_sound_log() {
    each_caller(|world| {
        for round in 0..5 {
            let line =
                format!("echo here; while :; do mkdir {}/d; done 2>/dev/null", world.outside.display());
            let live = world.run().opt("-c").opt(line).start_words();
            live.first_output(PATIENCE);
            std::thread::sleep(Duration::from_millis(20 * round));
            kill(live.pid(), 9).unwrap();
            live.reap();
            is_sound(world);
        }
        eventually(PATIENCE, || match processes_of(&world.ws) {
            left if left.is_empty() => Ok(()),
            left => Err(format!("{left:?}")),
        });
        let kinds = kinds(world);
        assert_eq!(kinds.iter().filter(|kind| *kind == "start").count(), 5, "{kinds:?}");
        assert!(kinds.iter().any(|kind| kind == "refusal"), "{kinds:?}");
        assert!(!kinds.iter().any(|kind| kind == "gap"), "{kinds:?}");
        world.run().shell("true").exits(0);
        is_sound(world);
    });
}

/// A launcher that is told twice to end does not wait, but it does say how it ended.
#[test]
fn a_run_that_was_given_up_has_an_end() {
    each_caller(|world| {
        let line = format!(
            "mkdir {}/d; trap '' TERM INT; echo here; while :; do sleep 0.1; done",
            world.outside.display()
        );
        let live = world.run().opt("-c").opt(line).start_words();
        live.first_output(PATIENCE);
        kill(live.pid(), 15).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        kill(live.pid(), 15).unwrap();
        live.reap();
        assert_eq!(kinds(world), ["start", "refusal", "end"]);
        assert_eq!(super::stored(world, &[]).len(), 1);
        is_sound(world);
    });
}

/// Questions, answers and grants: who said what, to which question.
#[test]
fn questions_answers_and_grants() {
    each_caller(|world| {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let outside = world.outside.display().to_string();
        let line = format!("mkdir {outside}/yes; mkdir {outside}/no; mkdir {outside}/late; exit 0");
        let live = world
            .run()
            .holding(theirs, 9)
            .opts(["--ask", "fd:9", "--ask-timeout", "1", "-c", &line])
            .start_words();
        let mut answers = ours.try_clone().unwrap();
        let mut ids = Vec::new();
        for heard in std::io::BufRead::lines(std::io::BufReader::new(ours)) {
            let Ok(heard) = heard else { break };
            let heard: Value = serde_json::from_str(&heard).unwrap();
            if heard["type"] != "ask" {
                continue;
            }
            ids.push(heard["id"].to_string());
            let answer = match text(&heard["subject"]).rsplit('/').next().unwrap() {
                "yes" => "session",
                "no" => "deny",
                _ => continue,
            };
            let reply = json!({"id": heard["id"], "answer": answer}).to_string() + "\n";
            std::io::Write::write_all(&mut answers, reply.as_bytes()).unwrap();
        }
        live.finish(PATIENCE).exits(0);
        assert!(world.outside.join("yes").is_dir());
        let log = logged(world);
        let start = log[0]["sandbox"].clone();
        let short = |line: &Value| match text(&line["kind"]) {
            "ask" => format!("ask {} {}", line["ask"]["id"], line["ask"]["violation"]["subject"]),
            "answer" => format!("answer {} {} {}", line["id"], line["reply"]["answer"], line["who"]),
            "grant" => format!("grant {} {}", line["grant"]["scope"], line["grant"]["subject"]),
            kind => kind.to_owned(),
        };
        let numbered = |line: String| {
            // On record under the number by which they were asked.
            ids.iter().enumerate().fold(line, |line, (at, id)| line.replace(id, &format!("no. {}", at + 1)))
        };
        let told: Vec<String> =
            log.iter().map(|line| numbered(short(line)).replace('"', "").replace(&outside, "")).collect();
        let expected = [
            "start",
            "ask no. 1 /yes",
            "answer no. 1 session descriptor 9",
            "grant session /yes",
            "ask no. 2 /no",
            "answer no. 2 deny descriptor 9",
            "refusal",
            "ask no. 3 /late",
            "answer no. 3 deny timeout",
            "refusal",
            "end",
        ];
        assert_eq!(told, expected);
        for line in &log {
            let name = match text(&line["kind"]) {
                "ask" => &line["ask"]["violation"]["sandbox"],
                "refusal" => &line["violation"]["sandbox"],
                _ => &line["sandbox"],
            };
            assert_eq!(*name, start, "{line:#}");
        }
        is_sound(world);
    });
}

#[test]
fn what_is_taken_back_is_in_it() {
    each_caller(|world| {
        world.run().shell("true").exits(0);
        world.file(
            state(world).join("grants.json"),
            json!({"given": 1, "grants": [{"id": "g1", "kinds": ["read"], "subject": "/x", "scope": "permanent",
                "who": "me", "when": 1, "why": "cat"}]})
            .to_string(),
        );
        world.stockade().opts(["grants", "revoke", "g1"]).go().exits(0);
        let log = logged(world);
        let last = log.last().unwrap();
        assert_eq!((&last["kind"], &last["grant"]["id"]), (&json!("revoke"), &json!("g1")));
        is_sound(world);
    });
}
