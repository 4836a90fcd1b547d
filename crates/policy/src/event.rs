//! What a running command tells.

use crate::{Ask, Connection, Outcome, Reply, Violation};
use serde::{Deserialize, Serialize};

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
    /// The run is over. Always the last event.
    Exited(Box<Outcome>),
}
