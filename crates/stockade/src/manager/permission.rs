//! What a person is shown when a command was refused something, and what they can say.

use crate::grants::{Given, is_grantable};
use crate::{Grant, GrantStore, ToolResult, visible};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use stockade_policy::{Violation, ViolationKind};

/// A command failed of a refusal that a person may lift.
///
/// Shown to a person and handed to [`Manager::answer`](crate::Manager::answer) with what they said. The
/// manager goes by its own record of what was refused: a request that was changed on its way opens nothing
/// else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: PermissionKind,
    /// Its name until it is answered.
    pub id: String,
    /// The path or `host:port` that was refused, as the command named it: it can hold anything.
    pub resource: String,
    /// The same with everything invisible or misleading written out.
    pub display: String,
    /// What the command wanted to do with it.
    pub operation: ViolationKind,
    /// Why it was refused, in one sentence.
    pub reason: String,
    /// The command.
    pub command: String,
    /// The answers that can be followed, always with `deny`.
    pub options: Vec<PermissionAnswer>,
    /// The settings file that `allow_permanent` writes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<PathBuf>,
}

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionKind {
    /// Something outside the walls.
    SandboxAccess,
}

/// What a person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAnswer {
    /// Run that command again with just this opened.
    AllowOnce,
    /// Open it for every command until the manager is gone.
    AllowSession,
    /// The same, and write it to the user's settings.
    AllowPermanent,
    /// Leave it closed and tell the agent.
    Deny,
}

/// What an answer did.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Answered {
    /// The command ran again, with this result.
    Ran(Box<ToolResult>),
    /// It is open from the next command on.
    Granted(Grant),
    /// It stays closed.
    Denied {
        /// For the agent.
        text: String,
    },
}

impl PermissionRequest {
    /// What a person can be asked about a refusal; nothing where they have no say.
    pub(super) fn about(
        id: String,
        violation: &Violation,
        command: &str,
        grants: &GrantStore,
    ) -> Option<Self> {
        let given = Given::about(violation);
        if !is_grantable(violation.rule.as_ref()) {
            return None;
        }
        // Only what one of the settings' lists is about can be opened by itself. A denyWrite beats them all.
        let openable = given.keepable().is_ok();
        // An entry about a name keeps the name where it is: no list lets it go.
        let leaves = matches!(violation.kind, ViolationKind::Unlink | ViolationKind::Rename);
        let settings = grants.settings().filter(|_| !leaves).map(Into::into);
        use PermissionAnswer::{AllowOnce, AllowPermanent, AllowSession, Deny};
        let options = match (openable, &settings) {
            (false, _) => return None,
            (true, Some(_)) => vec![AllowOnce, AllowSession, AllowPermanent, Deny],
            (true, None) => vec![AllowOnce, AllowSession, Deny],
        };
        Some(Self {
            kind: PermissionKind::SandboxAccess,
            id,
            resource: violation.subject.clone(),
            display: visible(&violation.subject).into_owned(),
            operation: violation.kind,
            reason: violation.reason.clone(),
            command: command.to_owned(),
            options,
            settings,
        })
    }

    /// What the agent is told after a no.
    pub(super) fn denial(&self) -> String {
        format!(
            "The user was asked for permission to {} {} and said no ({}). It stays refused: go on without it, \
             or ask the user how to go on. Do not try to get there in another way.",
            word(self.operation),
            self.display,
            self.reason
        )
    }
}

/// What a person would call it.
fn word(kind: ViolationKind) -> &'static str {
    match kind {
        ViolationKind::Read => "read",
        ViolationKind::Write => "change",
        ViolationKind::Create => "create",
        ViolationKind::Unlink => "remove",
        ViolationKind::Rename => "move",
        ViolationKind::Connect | ViolationKind::Resolve | ViolationKind::Unix => "connect to",
        ViolationKind::Exec => "run",
        ViolationKind::Syscall | ViolationKind::Limit => "use",
    }
}
