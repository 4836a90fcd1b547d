//! What an agent's tool call asks for.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use stockade_policy::Consent;

/// The longest a command may ask to run, in milliseconds. It also holds where none is asked for.
pub const LONGEST_TIMEOUT: u64 = 600_000;

/// One tool call, as agents write it. Names are read in both spellings: `run_in_background`,
/// `runInBackground`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolInput {
    /// Text for the shell.
    pub command: String,
    /// Milliseconds until it is ended, at most [`LONGEST_TIMEOUT`]. Background commands without one run as
    /// long as they like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// What the agent says it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Come back at once with an id instead of waiting for the end.
    #[serde(default, alias = "runInBackground")]
    pub run_in_background: bool,
    /// Run without walls. Honoured only where the user's settings say `allowUnsandboxedCommands`.
    #[serde(default, rename = "dangerouslyDisableSandbox", alias = "dangerously_disable_sandbox")]
    pub dangerously_disable_sandbox: bool,
    /// Whether a person has said yes to this very call, where a rule wants to be asked. For whoever asked to say;
    /// an agent cannot write it.
    #[serde(skip)]
    pub consent: Consent,
}

/// A tool call that cannot be followed. The text is for the agent that made it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// There is nothing to run.
    #[error("command is empty")]
    Empty,
    /// It asks for more time than there is, or for none.
    #[error(
        "timeout is {asked} ms\nhint: from 1 to {LONGEST_TIMEOUT}; longer work can run in the background"
    )]
    Timeout {
        /// What was asked for.
        asked: u64,
    },
    /// Nobody would see what it does.
    #[error("a command without walls does not run in the background")]
    BareBackground,
    /// A shell cannot be given such text.
    #[error("command holds a NUL byte")]
    Nul,
}

impl ToolInput {
    /// A command without anything special.
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), ..Self::default() }
    }

    /// The same, in the background.
    pub fn background(command: impl Into<String>) -> Self {
        Self { run_in_background: true, ..Self::new(command) }
    }

    /// Whether it can be followed.
    pub fn check(&self) -> Result<(), InputError> {
        if self.command.trim().is_empty() {
            return Err(InputError::Empty);
        }
        if self.command.contains('\0') {
            return Err(InputError::Nul);
        }
        match self.timeout {
            Some(asked) if asked == 0 || asked > LONGEST_TIMEOUT => Err(InputError::Timeout { asked }),
            _ => Ok(()),
        }
    }

    /// How long it may run where somebody waits for it.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_millis(self.timeout.unwrap_or(LONGEST_TIMEOUT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read_and_one_is_written() {
        let expected = ToolInput {
            command: "make".into(),
            timeout: Some(5),
            description: Some("build".into()),
            run_in_background: true,
            dangerously_disable_sandbox: true,
            consent: Consent::Missing,
        };
        for text in [
            r#"{"command": "make", "timeout": 5, "description": "build", "run_in_background": true,
                "dangerouslyDisableSandbox": true}"#,
            r#"{"command": "make", "timeout": 5, "description": "build", "runInBackground": true,
                "dangerously_disable_sandbox": true, "consent": "given", "more": 1}"#,
        ] {
            assert_eq!(serde_json::from_str::<ToolInput>(text).unwrap(), expected);
        }
        let written = serde_json::to_value(&expected).unwrap();
        assert_eq!(written["run_in_background"], true);
        assert_eq!(written["dangerouslyDisableSandbox"], true);
        assert_eq!(serde_json::from_str::<ToolInput>(r#"{"command": "x"}"#).unwrap(), ToolInput::new("x"));
        assert!(serde_json::from_str::<ToolInput>("{}").is_err());
    }

    #[test]
    fn what_cannot_be_followed_is_told() {
        let timed = |timeout| ToolInput { timeout: Some(timeout), ..ToolInput::new("x") };
        assert_eq!(timed(LONGEST_TIMEOUT).check(), Ok(()));
        assert_eq!(timed(1).check(), Ok(()));
        for asked in [0, LONGEST_TIMEOUT + 1, u64::MAX] {
            assert_eq!(timed(asked).check(), Err(InputError::Timeout { asked }));
        }
        assert_eq!(ToolInput::new(" \n").check(), Err(InputError::Empty));
        assert_eq!(ToolInput::new("a\0b").check(), Err(InputError::Nul));
    }
}
