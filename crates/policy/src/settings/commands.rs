//! Settings about whole commands.

use schemars::JsonSchema;
use serde::Deserialize;

/// Rules about whole commands.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct CommandSettings {
    /// Commands that are refused before anything starts. A convenience for people; the walls do not depend on it.
    #[serde(deserialize_with = "super::object::many")]
    pub(crate) deny: Vec<DenyEntry>,
}

/// Commands that are refused.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DenyEntry {
    /// The program: `rm` wherever it lies, or a path; `*` stands for anything.
    pub(crate) program: String,
    /// Patterns of which each must fit an argument, in any order; `*` stands for anything.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// What the caller is told.
    #[serde(default)]
    pub(crate) reason: Option<String>,
    /// Commands the rule must refuse, tried when the settings are read.
    #[serde(default, rename = "match")]
    pub(crate) matching: Vec<String>,
    /// Commands the rule must let through, tried when the settings are read.
    #[serde(default)]
    pub(crate) not_match: Vec<String>,
}
