//! One question.

use super::visible;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use stockade_policy::Violation;

/// Whether a command may do what a rule refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Below 2^53, and not to be foreseen. The same in the events of the run and in the audit log; what else
    /// waits for the same answer has a number of its own there.
    pub id: u64,
    /// What would be refused, and by which rule. The names in it are as the command chose them: they can
    /// hold anything, escape sequences included.
    pub violation: Violation,
    /// Why it would be refused, in one sentence.
    pub reason: String,
    /// The subject with everything invisible or misleading in it written out.
    pub display: String,
    /// The settings file that "always" would be written to; without one it cannot be given.
    pub settings: Option<PathBuf>,
    /// When nobody waits for an answer any more.
    pub deadline: Instant,
}

impl Question {
    /// How long an answer is still waited for.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The program that wants to act, written out like the subject.
    pub fn program(&self) -> String {
        let violation = &self.violation;
        visible(violation.program.as_deref().unwrap_or(&violation.command)).into_owned()
    }
}
