//! What a running command tells.

use crate::{Ask, Connection, Notice, Outcome, Reply, Violation};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One thing that happened during a run, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum Event {
    /// The program was started.
    Started {
        /// The sandbox's id.
        sandbox: String,
        /// The process, as the sandbox numbers it.
        pid: u32,
    },
    /// Bytes of standard output (only when they are captured, not inherited).
    Stdout {
        /// The bytes as they came.
        #[serde(with = "crate::text::bytes")]
        data: Vec<u8>,
    },
    /// Bytes of standard error.
    Stderr {
        /// The bytes as they came.
        #[serde(with = "crate::text::bytes")]
        data: Vec<u8>,
    },
    /// `max_output` was reached: the rest is drained and dropped, the command goes on.
    Truncated {
        /// The limit in bytes.
        limit: u64,
    },
    /// Something was refused.
    Violation(Violation),
    /// A connection or a request is over, or was refused.
    Connection(Box<Connection>),
    /// A call waits until somebody answers.
    Ask(Ask),
    /// A question was answered, or nobody did in time.
    Answered {
        /// The question.
        id: u64,
        /// The answer.
        reply: Reply,
    },
    /// Settings files changed, and what they say now holds.
    SettingsReloaded {
        /// The files that changed.
        files: Vec<PathBuf>,
        /// Files that were wrong before and are not any more.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        mended: Vec<PathBuf>,
        /// What holds for this run from now on: `+ allowedDomains example.org`.
        applied: Vec<String>,
        /// What holds from the next command on.
        later: Vec<String>,
        /// What the person should know about the new settings.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notices: Vec<String>,
    },
    /// A settings file changed and is wrong now: what held before holds, but nothing runs without walls.
    SettingsRejected {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        error: String,
    },
    /// A session's shell, or its whole sandbox, ended and was or will be started anew.
    Restarted {
        /// Why, in one sentence.
        reason: String,
        /// What the new one has of the old one: `working directory`, `exported variables`.
        kept: Vec<String>,
        /// What it has not.
        lost: Vec<String>,
    },
    /// Whoever follows the run did not keep up, and events are missing here.
    Missed {
        /// How many.
        events: u64,
    },
    /// Something a person should know about the run.
    Notice(Notice),
    /// The run is over. Always the last event.
    Exited(Box<Outcome>),
}
