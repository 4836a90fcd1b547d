//! Commands that are refused before anything starts. A convenience: whoever wants to can write the same command
//! so that no text rule knows it. The walls hold then.

use super::part::{Part, Word};
use super::pattern::{CommandPattern, glob};
use super::reading::read_text;
use super::strip::{Purpose, strip};
use crate::RuleRef;
use std::borrow::Cow;

/// How many shells inside shells are looked into.
const DEEPEST: usize = 4;

/// A rule that refuses commands.
#[derive(Clone, Debug)]
pub(crate) struct DenyRule {
    pub(crate) what: Denied,
    /// Why, in the words of whoever wrote the rule.
    pub(crate) reason: Option<String>,
    pub(crate) rule: RuleRef,
}

/// What a rule refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// A program with arguments that fit all patterns, in any order.
    Program { program: String, arguments: Vec<String> },
    /// Commands that fit a pattern.
    Command(CommandPattern),
}

impl Denied {
    /// Whether this command is refused: as it stands, behind wrappers, or as text for another shell.
    pub(crate) fn refuses(&self, part: &Part<'_>) -> bool {
        self.refuses_within(part, DEEPEST)
    }

    /// Whether any command of a text is refused.
    pub(crate) fn refuses_text(&self, text: &str) -> bool {
        self.refuses_in_text(text, DEEPEST)
    }

    fn refuses_in_text(&self, text: &str, depth: usize) -> bool {
        read_text(text).parts.iter().any(|part| self.refuses_within(part, depth))
    }

    fn refuses_within(&self, part: &Part<'_>, depth: usize) -> bool {
        let stripped = strip(part, Purpose::Deny);
        stripped.stages.iter().any(|words| {
            self.fits(words)
                || (depth > 0 && inner(words).is_some_and(|text| self.refuses_in_text(&text, depth - 1)))
        })
    }

    fn fits(&self, words: &[Word<'_>]) -> bool {
        // Whoever denies everything means also what cannot be read.
        if matches!(self, Self::Command(pattern) if pattern.fits_all()) {
            return true;
        }
        let Some(program) = words.first().and_then(|word| word.value.as_deref()) else { return false };
        let name = last_name(program);
        match self {
            Self::Program { program: wanted, arguments } => {
                let named = if wanted.contains('/') { program } else { name };
                glob(wanted.as_bytes(), named.as_bytes())
                    && arguments.iter().all(|wanted| {
                        let fits = |word: &Word<'_>| {
                            word.value
                                .as_deref()
                                .is_some_and(|value| glob(wanted.as_bytes(), value.as_bytes()))
                        };
                        words[1..].iter().any(fits)
                    })
            }
            Self::Command(pattern) => {
                pattern.fits(words) || {
                    let mut short = words.to_vec();
                    short[0].value = Some(Cow::Borrowed(name));
                    pattern.fits(&short)
                }
            }
        }
    }
}

/// Whether a command runs something that no rule could have looked at.
pub(crate) fn is_hidden(part: &Part<'_>) -> bool {
    let stripped = strip(part, Purpose::Deny);
    stripped.stages.iter().any(|words| match words.split_first() {
        Some((program, rest)) => match program.value.as_deref().map(last_name) {
            None => true,
            Some("source" | ".") => true,
            Some("eval") => rest.iter().any(|word| word.value.is_none()),
            Some(_) => false,
        },
        None => false,
    })
}

fn last_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The text that a command hands to a shell.
fn inner(words: &[Word<'_>]) -> Option<String> {
    let (program, rest) = words.split_first()?;
    match last_name(program.value.as_deref()?) {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => {
            let is_text = |word: &Word<'_>| {
                let value = word.value.as_deref().unwrap_or_default();
                value.starts_with('-') && !value.starts_with("--") && value.contains('c')
            };
            let after = rest.iter().position(is_text)? + 1;
            rest.get(after)?.value.as_deref().map(str::to_owned)
        }
        "eval" => {
            let known: Option<Vec<&str>> = rest.iter().map(|word| word.value.as_deref()).collect();
            known.map(|words| words.join(" "))
        }
        "env" => rest.iter().enumerate().find_map(|(at, word)| {
            let value = word.value.as_deref()?;
            let behind = value.strip_prefix("--split-string=").or_else(|| value.strip_prefix("-S"))?;
            if behind.is_empty() {
                rest.get(at + 1)?.value.as_deref().map(str::to_owned)
            } else {
                Some(behind.to_owned())
            }
        }),
        _ => None,
    }
}
