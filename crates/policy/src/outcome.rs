//! What became of a command.

use crate::{Enforcement, NetworkStatistics, ReviewItem, Violation};
use serde::{Deserialize, Serialize};

/// The result of one command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// The exit status a shell would show: the command's own, 128+N for signals.
    pub exit_code: i32,
    /// Whether walls stood around it.
    pub sandboxed: bool,
    /// Which walls: `native`, `none`, later `docker` and others.
    pub kind: String,
    /// Milliseconds from start to end.
    pub duration_ms: u64,
    /// A refusal is the likely cause of a failure.
    pub blocked: bool,
    /// Why, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// The path, host or limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_resource: Option<String>,
    /// Captured output was cut at `max_output`.
    pub truncated: bool,
    /// What it used.
    pub usage: Usage,
    /// What was refused, in order.
    pub violations: Vec<Violation>,
    /// Refusals beyond those that are kept one by one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_violations: u64,
    /// What went through the gateway, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkStatistics>,
    /// What the run left that the host may execute later, where a review was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Vec<ReviewItem>>,
    /// Every wall and what became of it.
    pub enforcement: Enforcement,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "how")]
pub enum Exit {
    /// By itself.
    Code {
        /// Its exit status.
        code: i32,
    },
    /// By a signal inside.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// The time limit was reached and everything was killed.
    TimedOut,
    /// The caller cancelled it with this signal (2 or 15), or by dropping it (9).
    Cancelled {
        /// The signal's number.
        signal: i32,
    },
    /// The program could not be executed (126) or was not found (127).
    NotStarted {
        /// The system's error number.
        errno: i32,
    },
}

impl Exit {
    /// The status a shell would show. A cancelled run is never 0.
    pub fn status(self) -> i32 {
        const NOT_FOUND: i32 = 2;
        match self {
            Self::Code { code } => code,
            Self::Signal { signal } | Self::Cancelled { signal } => 128 + signal,
            Self::TimedOut => 128 + 9,
            Self::NotStarted { errno: NOT_FOUND } => 127,
            Self::NotStarted { .. } => 126,
        }
    }
}

/// What a command and its waited-for children used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Microseconds of processor time in user mode.
    pub user_us: u64,
    /// Microseconds of processor time in the kernel.
    pub system_us: u64,
    /// The largest resident set of one process, in KiB.
    pub max_rss_kib: u64,
}
