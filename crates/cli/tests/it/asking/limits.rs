//! Nobody is asked without end.

use super::{Program, about, batch};
use crate::act;
use crate::support::{Answer, each_caller};
use std::time::Duration;

/// Ten thousand acts, each on a path of its own.
#[test]
fn a_flood_of_questions_is_refused() {
    const ACTS: usize = 10_000;
    each_caller(|world| {
        let acts: Vec<_> = (0..ACTS).map(|at| act!["mkdir", world.outside.join(format!("d{at}"))]).collect();
        let (lines, asked) = batch(&acts);
        let program = Program::begin(world.run().opt("--verbose"), |run| run.input(lines).start(["batch"]));
        let (heard, ran) = program.attend(|_| "once");
        let took = ran.took;
        let summary = ran.err();
        let questions = heard.iter().filter(|line| line["type"] == "ask").count();
        let notices = heard.iter().filter(|line| line["type"] == "notice").count();
        // A burst, and what time has earned since.
        let most = 11 + usize::try_from(took.as_secs() / 3).unwrap();
        assert!((10..=most).contains(&questions), "{questions} in {took:?}{ran}");
        assert_eq!(notices, 1, "{heard:?}");
        let made = std::fs::read_dir(&world.outside).unwrap().count();
        assert_eq!(made, questions);
        let unasked = ACTS - questions;
        assert!(summary.contains(&format!("{unasked} of them without asking")), "{ran}");
        let answers = Answer::all(ran, &asked);
        assert_eq!(answers.iter().filter(|answer| answer.succeeded()).count(), questions);
    });
}

/// Hundreds of callers at once: some are asked about, the others go on with a refusal.
#[test]
fn a_crowd_does_not_hang() {
    each_caller(|world| {
        let script = format!(
            "for i in $(seq 300); do mkdir {}/d$i 2>/dev/null & done; wait; echo over",
            super::text(&world.outside)
        );
        let mut program = Program::begin(world.run(), |run| run.opt("-c").opt(script).start_words());
        // Nothing is answered until no more questions come.
        let mut open = Vec::new();
        let mut line = program.next();
        while let Some(said) = line.take() {
            if said["type"] == "ask" {
                open.push(said);
            }
            if open.len() >= 10 {
                break;
            }
            line = program.next();
        }
        std::thread::sleep(Duration::from_secs(2));
        for question in &open {
            program.answers(question, "once");
        }
        let mut paths: Vec<_> = open.iter().map(|question| about(question).1).collect();
        let (heard, ran) = program.attend(|_| "deny");
        paths.retain(|path| !path.is_dir());
        assert!(paths.is_empty(), "allowed but not made: {paths:?} {heard:?}{ran}");
        ran.exits(0);
        assert_eq!(ran.out(), "over\n", "{ran}");
        assert_eq!(std::fs::read_dir(&world.outside).unwrap().count(), open.len());
    });
}
