//! The shape of `sandbox.json`.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// A whitelist and a blacklist. Everything may be left out.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SimpleSettings {
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    pub(crate) enabled: Option<bool>,
    pub(crate) provider: Option<String>,
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) policy: SimplePolicy,
    /// Belongs to the provider; none of ours has options there.
    pub(crate) provider_options: Option<IgnoredAny>,
}

/// What may be done.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SimplePolicy {
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) filesystem: SimpleFilesystem,
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) network: SimpleNetwork,
}

/// Paths.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SimpleFilesystem {
    /// May be written.
    pub(crate) whitelist: Vec<String>,
    /// May be neither read nor written; beats the whitelist.
    pub(crate) blacklist: Vec<String>,
}

/// There is none.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SimpleNetwork {
    pub(crate) allow_network: Option<bool>,
}
