//! Whether a request may run, and behind which walls.

use crate::policy::Policy;
use crate::{BareWish, CommandLine, Decision, Request, RuleRef, Verdict};

impl Policy {
    /// What the policy says to a request.
    pub fn decide(&self, request: &Request) -> Decision {
        if is_empty(&request.command) {
            return answer(Verdict::Refuse, "there is no command to run", None);
        }
        if let Some(rule) = &self.bare {
            return answer(Verdict::Unsandboxed, "the settings switch the walls off", Some(rule.clone()));
        }
        match (request.bare, &self.bare_wishes) {
            (BareWish::Bare, Some(rule)) => answer(
                Verdict::Unsandboxed,
                "the caller asked for no walls and the settings allow it",
                Some(rule.clone()),
            ),
            (BareWish::Bare, None) => answer(
                Verdict::Refuse,
                "the caller asked for no walls, which needs \"allowUnsandboxedCommands\": true in the user's settings",
                None,
            ),
            (BareWish::Sandboxed, _) => answer(Verdict::Sandbox, "commands run behind walls", None),
        }
    }
}

fn is_empty(command: &CommandLine) -> bool {
    match command {
        CommandLine::Argv(words) => words.first().is_none_or(|program| program.is_empty()),
        CommandLine::Shell(text) => text.as_encoded_bytes().trim_ascii().is_empty(),
    }
}

fn answer(verdict: Verdict, reason: &str, rule: Option<RuleRef>) -> Decision {
    Decision { verdict, reason: reason.to_owned(), rule }
}
