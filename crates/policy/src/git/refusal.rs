//! Why content was refused.

use std::fmt;

/// Longer names are cut: they come from the command and are shown to a person.
const MOST_SHOWN: usize = 120;

/// Content that may not come into a git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitRefusal {
    /// The key as git writes it (`core.fsmonitor`), control characters escaped; empty if there is none.
    pub key: String,
    /// Counted from one; zero if no line is to blame.
    pub line: usize,
    /// Why.
    pub reason: String,
}

impl GitRefusal {
    pub(super) fn new(key: &[u8], line: usize, reason: impl Into<String>) -> Self {
        Self { key: shown(key), line, reason: reason.into() }
    }
}

/// In one line: it becomes part of a refusal, whose line breaks are written out.
impl fmt::Display for GitRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(out, "line {}: ", self.line)?;
        }
        if !self.key.is_empty() {
            write!(out, "{}: ", self.key)?;
        }
        write!(out, "{}; if it is wanted, a person can make this change outside the sandbox", self.reason)
    }
}

impl std::error::Error for GitRefusal {}

/// Bytes of the command's choice, fit for a terminal.
pub(super) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out: String = text.chars().take(MOST_SHOWN).collect::<String>().escape_debug().collect();
    if text.chars().nth(MOST_SHOWN).is_some() {
        out.push_str("...");
    }
    out
}
