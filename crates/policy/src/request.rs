//! What somebody wants to run, and whether it may.

use crate::RuleRef;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// A command somebody wants to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to run.
    pub command: CommandLine,
    /// Where; the workspace unless the policy names another.
    pub cwd: PathBuf,
    /// The caller's environment, from which the policy chooses.
    pub environment: Vec<(OsString, OsString)>,
    /// Run without walls. Honoured only where the settings allow it.
    pub bare: BareWish,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A program and its arguments, exactly.
    Argv(Vec<OsString>),
    /// Text for `/bin/sh -c` (bash where there is one).
    Shell(OsString),
}

/// Whether the caller asked for no walls (`dangerouslyDisableSandbox`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareWish {
    /// Walls, please.
    Sandboxed,
    /// No walls, if the settings allow that.
    Bare,
}

/// What the policy says to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// The rule that decided, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
}

/// The four answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Behind walls.
    Sandbox,
    /// Without walls, because the settings say so.
    Unsandboxed,
    /// Somebody has to be asked first.
    Ask,
    /// Not at all.
    Refuse,
}
