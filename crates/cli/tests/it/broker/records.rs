//! Violations as a run's report tells them.

use crate::support::{Answer, Run, World};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Errors with which walls and rules answer.
pub(super) const REFUSALS: [&str; 5] =
    ["errno EACCES", "errno EPERM", "errno EROFS", "errno EBUSY", "errno EXDEV"];

/// Where a run's report goes.
pub(super) fn report_of(world: &World) -> PathBuf {
    world.base.join("report.json")
}

/// `stockade run` that writes a report.
pub(super) fn reported(world: &World) -> Run<'_> {
    world.run().with("--report", report_of(world))
}

/// The records of the last reported run.
pub(super) struct Records {
    outcome: Value,
    all: Vec<Record>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Record {
    pub(super) kind: String,
    pub(super) subject: String,
    /// Empty where no rule was needed.
    pub(super) rule: String,
}

impl Records {
    #[track_caller]
    pub(super) fn of(world: &World) -> Self {
        let text = fs::read(report_of(world)).expect("a report");
        let outcome: Value = serde_json::from_slice(&text).expect("JSON");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let all = outcome["violations"].as_array().expect("violations").iter().map(|found| Record {
            kind: text(&found["kind"]),
            subject: text(&found["subject"]),
            rule: text(&found["rule"]["text"]),
        });
        Self { all: all.collect(), outcome }
    }

    pub(super) fn outcome(&self) -> &Value {
        &self.outcome
    }

    pub(super) fn all(&self) -> &[Record] {
        &self.all
    }

    /// Fails unless there is a record of this very act.
    #[track_caller]
    pub(super) fn tell(&self, kind: &str, subject: impl AsRef<Path>, rule: &str) -> &Self {
        let subject = subject.as_ref().to_str().expect("text");
        let found =
            |record: &&Record| record.kind == kind && record.subject == subject && record.rule == rule;
        assert!(
            self.all.iter().any(|record| found(&record)),
            "no record of {kind} {subject} by {rule:?} among\n{:#?}",
            self.all
        );
        self
    }

    /// Fails if anything else was recorded.
    #[track_caller]
    pub(super) fn only_about(&self, subjects: &[PathBuf]) {
        let others: Vec<&Record> = self
            .all
            .iter()
            .filter(|record| !subjects.iter().any(|path| *path == Path::new(&record.subject)))
            .collect();
        assert!(others.is_empty(), "recorded although nobody did it: {others:#?}");
    }
}

/// Fails unless every one of them was refused.
#[track_caller]
pub(super) fn all_refused(answers: &[Answer]) {
    let holes: Vec<String> = answers
        .iter()
        .filter(|answer| !REFUSALS.contains(&answer.line()))
        .map(|answer| format!("{} -> {}", answer.asked(), answer.line()))
        .collect();
    assert!(holes.is_empty(), "not refused:\n{}{}", holes.join("\n"), answers[0].ran());
}

/// Fails unless every one of them worked.
#[track_caller]
pub(super) fn all_fine(answers: &[Answer]) {
    let failed: Vec<String> = answers
        .iter()
        .filter(|answer| !answer.succeeded())
        .map(|answer| format!("{} -> {}", answer.asked(), answer.line()))
        .collect();
    assert!(failed.is_empty(), "should work:\n{}{}", failed.join("\n"), answers[0].ran());
}
