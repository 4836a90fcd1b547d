//! Commands that are refused, or asked about, before anything starts. A convenience: whoever wants to can write the same command
//! so that no text rule knows it. The walls hold then.

use super::inspect::Inspector;
use super::part::Word;
use super::pattern::{CommandPattern, glob};
use super::strip::last_name;
use crate::RuleRef;

/// A rule that refuses commands, or wants to be asked about them.
#[derive(Clone, Debug)]
pub(crate) struct DenyRule {
    pub(crate) what: Denied,
    /// Why, in the words of whoever wrote the rule.
    pub(crate) reason: Option<String>,
    pub(crate) rule: RuleRef,
}

/// What a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// A program with arguments that fit all patterns, in any order.
    Program { program: String, arguments: Vec<String> },
    /// Commands that fit a pattern.
    Command(CommandPattern),
}

impl DenyRule {
    /// Whether any command of a text is refused.
    pub(crate) fn refuses_text(&self, text: &str) -> bool {
        Inspector::new(std::slice::from_ref(self)).text(text).refused.is_some()
    }
}

impl Denied {
    /// Whoever denies everything means also what cannot be read.
    pub(super) fn fits_all(&self) -> bool {
        matches!(self, Self::Command(pattern) if pattern.fits_all())
    }

    /// Whether the rule is about this program, whatever its arguments are.
    pub(super) fn names(&self, program: &str) -> bool {
        match self {
            Self::Program { program: wanted, .. } => {
                let named = if wanted.contains('/') { program } else { last_name(program) };
                glob(wanted.as_bytes(), named.as_bytes())
            }
            Self::Command(pattern) => pattern.names(program) || pattern.names(last_name(program)),
        }
    }

    /// Whether a command whose program the rule names is refused.
    pub(super) fn fits(&self, program: &str, words: &[Word<'_>]) -> bool {
        match self {
            Self::Program { arguments, .. } => arguments.iter().all(|wanted| {
                let fits = |value: &str| glob(wanted.as_bytes(), value.as_bytes());
                words[1..].iter().any(|word| word.value.as_deref().is_some_and(fits))
            }),
            Self::Command(pattern) => {
                pattern.fits_as(program, words) || pattern.fits_as(last_name(program), words)
            }
        }
    }
}
