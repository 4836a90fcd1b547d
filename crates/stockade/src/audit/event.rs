//! What is worth a line.

use crate::grants::Grant;
use serde::{Deserialize, Serialize};
use std::fmt;
use stockade_policy::{Ask, Exit, Plan, Reply, Violation};

/// One decision that matters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AuditEvent {
    /// A command starts behind walls.
    Start {
        /// The sandbox's id.
        sandbox: String,
        /// The command.
        command: String,
        /// Its working directory.
        cwd: String,
        /// The preset, where one was named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preset: Option<String>,
        /// The plan it runs under, as [`policy_digest`] gives it.
        policy: String,
    },
    /// An act was refused.
    Refusal {
        /// Which.
        violation: Violation,
    },
    /// Somebody is asked.
    Ask {
        /// The question.
        ask: Ask,
    },
    /// Somebody answered, or nobody did in time.
    Answer {
        /// The sandbox's id.
        sandbox: String,
        /// The question.
        id: u64,
        /// What was said.
        reply: Reply,
        /// Who said it: `tty`, `fd`, `callback`, `timeout`, ….
        who: String,
    },
    /// A permission was given.
    Grant {
        /// The sandbox that was waiting for it, where one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<String>,
        /// Which.
        grant: Grant,
    },
    /// A permission was taken back.
    Revoke {
        /// Which.
        grant: Grant,
        /// Who took it back.
        who: String,
    },
    /// A command starts without walls.
    BareRun {
        /// What its end will be known by.
        #[serde(default)]
        sandbox: String,
        /// The command.
        command: String,
        /// Its working directory.
        cwd: String,
        /// Why there are none.
        reason: String,
    },
    /// A command ended.
    End {
        /// The sandbox's id, or what a run without walls is known by.
        sandbox: String,
        /// How it ended.
        exit: Exit,
        /// The exit status a shell would show.
        exit_code: i32,
        /// Milliseconds from start to end.
        duration_ms: u64,
        /// Refusals that have no line because there were too many. The log adds those it left out.
        #[serde(default, skip_serializing_if = "is_zero")]
        unlisted: u64,
    },
    /// The log is not as its last writer left it. Written by the log itself.
    Gap {
        /// A line that was never finished stands before this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unfinished: Option<Unfinished>,
        /// Lines that were written and are gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<Lost>,
        /// How many lines should stand before this one and could not be written.
        #[serde(default, skip_serializing_if = "is_zero")]
        unwritten: u64,
        /// What was found, in words.
        note: String,
    },
}

/// The beginning of a line whose end never came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unfinished {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
}

/// Lines that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lost {
    /// The first one's number.
    pub from: u64,
    /// The last one's.
    pub to: u64,
}

pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The kinds of [`AuditEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum AuditKind {
    /// A command starts behind walls.
    Start,
    /// An act was refused.
    Refusal,
    /// Somebody is asked.
    Ask,
    /// Somebody answered.
    Answer,
    /// A permission was given.
    Grant,
    /// A permission was taken back.
    Revoke,
    /// A command starts without walls.
    BareRun,
    /// A command ended.
    End,
    /// The log is not as its last writer left it.
    Gap,
}

impl AuditKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Start,
        Self::Refusal,
        Self::Ask,
        Self::Answer,
        Self::Grant,
        Self::Revoke,
        Self::BareRun,
        Self::End,
        Self::Gap,
    ];

    /// As it is written in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Refusal => "refusal",
            Self::Ask => "ask",
            Self::Answer => "answer",
            Self::Grant => "grant",
            Self::Revoke => "revoke",
            Self::BareRun => "bareRun",
            Self::End => "end",
            Self::Gap => "gap",
        }
    }
}

impl fmt::Display for AuditKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl AuditEvent {
    /// Which kind it is.
    pub fn kind(&self) -> AuditKind {
        match self {
            Self::Start { .. } => AuditKind::Start,
            Self::Refusal { .. } => AuditKind::Refusal,
            Self::Ask { .. } => AuditKind::Ask,
            Self::Answer { .. } => AuditKind::Answer,
            Self::Grant { .. } => AuditKind::Grant,
            Self::Revoke { .. } => AuditKind::Revoke,
            Self::BareRun { .. } => AuditKind::BareRun,
            Self::End { .. } => AuditKind::End,
            Self::Gap { .. } => AuditKind::Gap,
        }
    }
}

/// The SHA-256 of a plan's JSON: two runs with the same digest had the same rules.
pub fn policy_digest(plan: &Plan) -> String {
    // A plan is plain data; were it ever not, the digest of nothing fits no plan.
    super::line::digest_of_json(plan).to_string()
}
