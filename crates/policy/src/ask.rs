//! Questions to a person, and their answers.

use crate::Violation;
use serde::{Deserialize, Serialize};

/// A held call that somebody may allow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// Below 2^53, and not to be foreseen; the answer names it.
    pub id: u64,
    /// What would be refused, and by which rule.
    pub violation: Violation,
    /// Why it would be refused, in one sentence.
    pub reason: String,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum Reply {
    /// No.
    Deny,
    /// This act, this time.
    Once,
    /// Acts of this kind on this subject, as long as the manager lives.
    Session,
    /// The same until this moment, in milliseconds since 1970.
    Until {
        /// Milliseconds since 1970.
        until: u64,
    },
    /// From now on: written to the user's settings.
    Always,
}
