//! A refused act with its exact subject.

use crate::RuleRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ViolationKind {
    /// Reading a file or listing a directory.
    Read,
    /// Changing a file.
    Write,
    /// Making a new name.
    Create,
    /// Removing a name.
    Unlink,
    /// Moving a name.
    Rename,
    /// Running a program.
    Exec,
    /// Connecting to a network address.
    Connect,
    /// Looking up a name.
    Resolve,
    /// Reaching a unix socket.
    Unix,
    /// A refused system call.
    Syscall,
    /// A limit was reached.
    Limit,
}

/// One refusal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// Counts up within one sandbox.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub time: u64,
    /// The sandbox's id.
    pub sandbox: String,
    /// The command that was running.
    pub command: String,
    /// The process, as the sandbox numbers it; 0 where no one process is meant.
    pub pid: u32,
    /// The program that process was running, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What was tried.
    pub kind: ViolationKind,
    /// The exact path, `host:port`, call or limit.
    pub subject: String,
    /// Why, in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The rule that refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// The option that would have allowed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}
