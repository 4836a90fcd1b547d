//! Several questions at once.

use super::{Program, about, text};
use crate::support::{binaries, each_caller};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Tries an act of the probe many times at once, and keeps what each said.
fn together(act: &str, paths: &[PathBuf]) -> String {
    let probe = text(&binaries().probe);
    let each = paths.iter().enumerate();
    let all = each.map(|(at, path)| format!("{probe} {act} {} > said.{at} &", text(path)));
    format!("{} wait", all.collect::<Vec<_>>().join(" "))
}

fn said(world: &crate::support::World, at: usize) -> String {
    std::fs::read_to_string(world.ws.join(format!("said.{at}"))).expect("said")
}

#[test]
fn answers_find_their_own_questions() {
    each_caller(|world| {
        let paths: Vec<PathBuf> = (0..6).map(|at| world.outside.join(format!("d{at}"))).collect();
        let script = together("mkdir", &paths);
        let mut program = Program::begin(world.run(), |run| run.opt("-c").opt(script).start_words());
        let questions: Vec<Value> = paths.iter().map(|_| program.question()).collect();
        program.hears_nothing(Duration::from_millis(200));
        // Last first, every second one allowed.
        for question in questions.iter().rev() {
            let (_, path) = about(question);
            let even = paths.iter().position(|known| *known == path).expect("known") % 2 == 0;
            program.answers(question, if even { "once" } else { "deny" });
        }
        let ran = program.finish();
        ran.exits(0);
        for (at, path) in paths.iter().enumerate() {
            assert_eq!(path.is_dir(), at % 2 == 0, "{}{ran}", path.display());
            assert_eq!(said(world, at), if at % 2 == 0 { "ok\n" } else { "errno EROFS\n" });
        }
    });
}

#[test]
fn one_subject_is_one_question() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("secret"), "SECRET");
        let script = together("read", &vec![secret.clone(); 8]);
        let run = world.run().with("--deny-read", &secret);
        let mut program = Program::begin(run, |run| run.opt("-c").opt(script).start_words());
        let question = program.question();
        // Time for the others to come along.
        program.hears_nothing(Duration::from_millis(700));
        program.answers(&question, "once");
        assert_eq!(program.next(), None);
        program.finish().exits(0);
        for at in 0..8 {
            assert_eq!(said(world, at), "ok SECRET\n");
        }
    });
}

/// While a question stands everything else goes on.
#[test]
fn only_the_caller_waits() {
    each_caller(|world| {
        let new = world.outside.join("new");
        let script = format!(
            "{} mkdir {} & mkdir inside; echo free > inside/file; cat inside/file; echo said; wait",
            text(&binaries().probe),
            text(&new)
        );
        let mut program = Program::begin(world.run(), |run| run.opt("-c").opt(script).start_words());
        let question = program.question();
        let mut heard = Vec::new();
        while !String::from_utf8_lossy(&heard).contains("said") {
            heard.extend(program.live().first_output(Duration::from_secs(10)));
        }
        assert_eq!(heard, b"free\nsaid\n");
        program.answers(&question, "once");
        let ran = program.finish();
        ran.exits(0);
        assert!(new.is_dir(), "{ran}");
    });
}
