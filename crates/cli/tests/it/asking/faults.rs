//! Whoever answers lies, leaves or comes too late.

use super::{Program, about, text, tried, violations};
use crate::act;
use crate::support::{binaries, each_caller, eventually, kill, processes_of};
use serde_json::json;
use std::time::Duration;

const SIGKILL: i32 = 9;

#[test]
fn forged_answers_are_errors() {
    each_caller(|world| {
        let new = world.outside.join("new");
        let mut program = Program::begin(world.run(), |run| run.start(["mkdir", text(&new)]));
        let question = program.question();
        let id = question["id"].as_u64().unwrap();
        for (line, names) in [
            ("nonsense".to_string(), None),
            ("[]".to_string(), None),
            (format!("{{\"id\":{},\"answer\":\"once\"}}", id + 1), Some(id + 1)),
            (format!("{{\"id\":{id},\"answer\":\"yes\"}}"), Some(id)),
            (format!("{{\"id\":{id},\"answer\":\"deny\",\"answer\":\"once\"}}"), Some(id)),
            (format!("{{\"id\":{id},\"answer\":\"once\",\"path\":\"/\"}}"), Some(id)),
            (format!("{{\"id\":{id},\"answer\":\"until\",\"until\":1}}"), Some(id)),
            (format!("{{\"id\":{id},\"answer\":\"once\"{}}}", " ".repeat(70_000)), None),
            ("\u{0}\u{1b}[2J".to_string(), None),
        ] {
            program.says(&line);
            let heard = program.next().expect("an error");
            assert_eq!(heard["type"], "error", "{heard}");
            assert_eq!(heard["id"].as_u64(), names, "{heard}");
            assert!(!new.exists());
        }
        program.answers(&question, "deny");
        // An answer is given once.
        program.answers(&question, "once");
        let ran = program.finish();
        assert_eq!(ran.out(), "errno EROFS\n", "{ran}");
        ran.keeps_calm();
        assert!(!new.exists());
    });
}

#[test]
fn nobody_at_the_other_end_is_a_no() {
    each_caller(|world| {
        let report = world.base.join("report.json");
        let (one, two) = (world.outside.join("one"), world.outside.join("two"));
        let (lines, asked) = super::batch(&[act!["mkdir", &one], act!["mkdir", &two]]);
        let run = world.run().with("--report", &report);
        let program = Program::begin(run, |run| run.input(lines).start(["batch"]));
        program.question();
        program.leaves();
        let ran = program.finish();
        ran.keeps_calm();
        for answer in crate::support::Answer::all(ran, &asked) {
            answer.errno(&["EROFS"]);
        }
        assert_eq!(violations(&report).len(), 2);
        assert!(!one.exists() && !two.exists());
    });
}

/// The descriptor that is not there is noticed before anything runs.
#[test]
fn nobody_to_ask_runs_nothing() {
    each_caller(|world| {
        let ran = world.run().with("--ask", "fd:77").program(["touch", "ran"]);
        ran.refused_to_start(&["77"]);
        let setsid = world.bare("/usr/bin/setsid").opt("--wait").opt(&binaries().stockade);
        let ran = setsid.opts(["run", "--ask", "tty"]).program(["touch", "ran"]);
        ran.refused_to_start(&["--ask tty", "terminal", "hint"]);
        assert!(!world.ws.join("ran").exists());
    });
}

/// The process that waits is killed; the answer comes later, and other questions after it.
#[test]
fn an_answer_after_the_caller_died() {
    each_caller(|world| {
        let (late, next) = (world.outside.join("late"), world.outside.join("next"));
        let script = format!(
            "{probe} mkdir {} & sleep 0.7; kill -9 $!; wait; echo gone; read line; {probe} mkdir {}",
            text(&late),
            text(&next),
            probe = text(&binaries().probe),
        );
        let (from, mut to) = std::io::pipe().unwrap();
        let run = world.run().input_from(from);
        let mut program = Program::begin(run, |run| run.opt("-c").opt(script).start_words());
        let question = program.question();
        program.live().first_output(Duration::from_secs(20));
        program.answers(&question, "once");
        std::thread::sleep(Duration::from_millis(300));
        assert!(!late.exists(), "done for somebody who is gone");
        std::io::Write::write_all(&mut to, b"\n").unwrap();
        let another = program.question();
        assert_eq!(about(&another), ("create".to_string(), next.clone()));
        program.answers(&another, "once");
        let ran = program.finish();
        ran.exits(0);
        assert!(next.is_dir() && !late.exists(), "{ran}");
    });
}

/// The run is over while a question stands.
#[test]
fn a_question_is_withdrawn_with_its_run() {
    each_caller(|world| {
        let new = world.outside.join("new");
        let script = format!("{} mkdir {} & sleep 0.7; exit 3", text(&binaries().probe), text(&new));
        let mut program = Program::begin(world.run(), |run| run.opt("-c").opt(script).start_words());
        let question = program.question();
        // It may be told, or the end of the conversation says the same.
        if let Some(line) = program.next() {
            assert_eq!(line, json!({"type": "expired", "id": question["id"]}));
        }
        program.answers(&question, "once");
        program.finish().exits(3);
        assert!(!new.exists());
    });
}

#[test]
fn the_launcher_is_killed_while_a_call_is_held() {
    each_caller(|world| {
        let new = world.outside.join("new");
        let mut program = Program::begin(world.run(), |run| run.start(["mkdir", text(&new)]));
        let question = program.question();
        kill(program.live().pid(), SIGKILL).unwrap();
        program.answers(&question, "once");
        eventually(Duration::from_secs(10), || {
            let left = processes_of(&world.base);
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        });
        assert_eq!(program.next(), None, "nobody of the run holds the descriptor");
        assert!(!new.exists());
    });
}

/// A signal for the run while a question stands ends it at once.
#[test]
fn a_run_can_be_ended_while_a_question_stands() {
    each_caller(|world| {
        let new = world.outside.join("new");
        let program = Program::begin(world.run(), |run| run.start(["mkdir", text(&new)]));
        program.question();
        kill(program.live().pid(), 15).unwrap();
        let ran = program.finish();
        ran.exits(128 + 15);
        assert!(ran.took < Duration::from_secs(20) && !new.exists(), "{ran}");
    });
}

/// Names that are no text are shown with replacements; the act itself has the exact name.
#[test]
fn names_that_are_not_text() {
    use std::os::unix::ffi::OsStringExt;
    each_caller(|world| {
        let name = std::ffi::OsString::from_vec(b"a\xff\n\x1b[2Jb".to_vec());
        let new = world.outside.join(name);
        let tried = tried(world.run(), &[act!["mkdir", &new]], |question| {
            assert_eq!(question["options"], json!(["once", "session", "deny"]));
            let shown = question["display"].as_str().unwrap();
            assert!(shown.ends_with("a\u{fffd}{ff}\\n\\u{1b}[2Jb"), "{shown}");
            "session"
        });
        tried.answers[0].ok();
        assert!(new.is_dir());
    });
}
