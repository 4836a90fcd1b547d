//! Where a value came from. Every rule carries one, and every refusal prints it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Who said it, from the weakest voice to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Layer {
    /// Built into Stockade: the default deny-read list, mandatory protection.
    BuiltIn,
    /// A named policy.
    Preset,
    /// A settings file inside the project: it may only tighten.
    Project,
    /// The user's own settings file.
    User,
    /// A command-line option, or a file named by one.
    Flag,
    /// A permission given after the start.
    Grant,
    /// The organisation's settings: only tightens, cannot be weakened.
    Managed,
}

/// Which file and key, preset or flag a value came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// Who said it.
    pub layer: Layer,
    /// The file, preset or option: `/home/a/.config/stockade/settings.json`, `default`, `--deny-read`.
    pub source: String,
    /// The key inside that source, where there is one: `filesystem.denyRead[2]`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.layer {
            Layer::BuiltIn => write!(out, "built in: {}", self.source)?,
            Layer::Preset => write!(out, "preset {}", self.source)?,
            _ => write!(out, "{}", self.source)?,
        }
        if self.key.is_empty() { Ok(()) } else { write!(out, " {}", self.key) }
    }
}

/// A rule as a person would quote it, with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleRef {
    /// The rule as written: `denyRead ~/.ssh`.
    pub text: String,
    /// Where it was written.
    pub origin: Origin,
}

impl fmt::Display for RuleRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.text, self.origin)
    }
}
