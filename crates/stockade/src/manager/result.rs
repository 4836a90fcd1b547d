//! What a tool call gives back.

use crate::PermissionRequest;
use serde::{Deserialize, Serialize};
use stockade_policy::{Exit, Outcome};

/// What became of a tool call, for the agent and for whoever watches it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// What it printed; what is not text is replaced.
    pub stdout: String,
    /// What it said on standard error, and a block with what was refused: see
    /// [`remove_violations`](crate::remove_violations).
    pub stderr: String,
    /// The status a shell would show; 126 for what the policy did not let run.
    pub exit_code: i32,
    /// Whether walls stood around it. Nothing stands around what did not run.
    pub sandboxed: bool,
    /// Which walls: `native`; `none` without.
    pub kind: String,
    /// Milliseconds from start to end.
    pub duration: u64,
    /// A refusal is the likely cause of a failure.
    pub blocked: bool,
    /// Why, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// The path, host or limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_resource: Option<String>,
    /// Its time was over.
    #[serde(default)]
    pub timed_out: bool,
    /// There was more output than is kept.
    #[serde(default)]
    pub truncated: bool,
    /// What a command in the background is asked about with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_id: Option<String>,
    /// What a person can be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_request: Option<PermissionRequest>,
    /// What agent and person should know: that there were no walls, that a shell was started anew and what
    /// was lost, that settings changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// What a shell shows for what it may not run.
const REFUSED: i32 = 126;

impl ToolResult {
    /// Of a command that ran.
    pub(super) fn ended(stdout: &[u8], stderr: String, outcome: &Outcome) -> Self {
        Self {
            stdout: String::from_utf8_lossy(stdout).into_owned(),
            stderr,
            exit_code: outcome.exit_code,
            sandboxed: outcome.sandboxed,
            kind: outcome.kind.clone(),
            duration: outcome.duration_ms,
            blocked: outcome.blocked,
            blocked_reason: outcome.blocked_reason.clone(),
            blocked_resource: outcome.blocked_resource.clone(),
            timed_out: outcome.exit == Exit::TimedOut,
            truncated: outcome.truncated,
            background_id: None,
            permission_request: None,
            notices: Vec::new(),
        }
    }

    /// Of a command that the policy did not let run.
    pub(super) fn refused(text: String) -> Self {
        Self {
            stderr: format!("stockade: {text}\n"),
            exit_code: REFUSED,
            blocked: true,
            blocked_reason: Some(text),
            ..Self::nothing("none")
        }
    }

    /// Of a command that goes on in the background.
    pub(super) fn in_background(id: String, kind: &str) -> Self {
        Self { background_id: Some(id), sandboxed: kind != "none", ..Self::nothing(kind) }
    }

    fn nothing(kind: &str) -> Self {
        Self {
            stdout: String::new(),
            stderr: String::new(),
            exit_code: 0,
            sandboxed: false,
            kind: kind.to_owned(),
            duration: 0,
            blocked: false,
            blocked_reason: None,
            blocked_resource: None,
            timed_out: false,
            truncated: false,
            background_id: None,
            permission_request: None,
            notices: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_agents_know() {
        let result = ToolResult { background_id: Some("b1".into()), ..ToolResult::refused("no".into()) };
        let written = serde_json::to_value(&result).unwrap();
        let mut keys: Vec<&String> = written.as_object().unwrap().keys().collect();
        keys.sort();
        let expected = [
            "backgroundId",
            "blocked",
            "blockedReason",
            "duration",
            "exitCode",
            "kind",
            "sandboxed",
            "stderr",
            "stdout",
            "timedOut",
            "truncated",
        ];
        assert_eq!(keys, expected);
        assert_eq!(serde_json::from_value::<ToolResult>(written).unwrap(), result);
    }
}
