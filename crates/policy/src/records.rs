//! What is kept of a run after it has ended.

use crate::ViolationKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether decisions go to the audit log, from the least strict to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AuditMode {
    /// Nothing is written.
    Off,
    /// Everything is written; a log that cannot be written is a warning.
    On,
    /// Everything is written; without a log nothing runs.
    Required,
}

/// Which refusals are hidden, and how long refusals are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViolationRules {
    /// Entries of `violations.ignore`.
    pub ignore: Vec<IgnoreRule>,
    /// Entries of srt's `ignoreViolations`.
    pub ignore_srt: Vec<SrtIgnoreRule>,
    /// Days that refusals are kept.
    pub keep_days: u32,
    /// How many refusals are kept, the newest.
    pub keep_rows: u32,
}

impl Default for ViolationRules {
    fn default() -> Self {
        Self { ignore: Vec::new(), ignore_srt: Vec::new(), keep_days: 30, keep_rows: 100_000 }
    }
}

/// Refusals nobody wants to see again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IgnoreRule {
    /// Only acts of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ViolationKind>,
    /// A path, glob or host, and everything below. Without a leading slash it holds at any depth.
    pub subject: String,
    /// Only acts of this program: a path, a name or a glob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// The same in srt's way: both are looked for as they stand, anywhere in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrtIgnoreRule {
    /// Part of the command; `*` for every one.
    pub command: String,
    /// Parts of subjects.
    pub subjects: Vec<String>,
}
