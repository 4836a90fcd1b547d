//! The shape of srt's settings files.

use super::credentials::Credentials;
use super::network::NetworkSettings;
use super::path_entry::PathEntry;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// Keys that mean nothing to this sandbox.
macro_rules! without_meaning {
    ($settings:expr, $($field:ident => $key:literal),* $(,)?) => {
        [$($settings.$field.is_some().then_some($key)),*].into_iter().flatten().collect()
    };
}

/// srt's settings. `network` and `filesystem` are required, which is checked later to name every gap.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SrtSettings {
    #[serde(deserialize_with = "super::object::maybe")]
    pub(crate) network: Option<NetworkSettings>,
    #[serde(deserialize_with = "super::object::maybe")]
    pub(crate) filesystem: Option<SrtFilesystem>,
    #[serde(deserialize_with = "super::object::maybe")]
    pub(crate) credentials: Option<Credentials>,
    pub(crate) allow_nested_user_namespaces: Option<bool>,
    #[serde(deserialize_with = "super::object::maybe")]
    pub(crate) git: Option<SrtGit>,
    pub(crate) ignore_violations: BTreeMap<String, Vec<String>>,
    enable_weaker_nested_sandbox: Option<bool>,
    enable_weaker_network_isolation: Option<bool>,
    allow_apple_events: Option<bool>,
    allow_pty: Option<bool>,
    mandatory_deny_search_depth: Option<u64>,
    ripgrep: Option<IgnoredAny>,
    seccomp: Option<IgnoredAny>,
    bwrap_path: Option<String>,
    socat_path: Option<String>,
    java_agent_jar_path: Option<String>,
    windows: Option<IgnoredAny>,
}

impl SrtSettings {
    /// The keys of this file that are accepted without a meaning.
    pub(crate) fn without_meaning(&self) -> Vec<&'static str> {
        without_meaning!(
            self,
            enable_weaker_nested_sandbox => "enableWeakerNestedSandbox",
            enable_weaker_network_isolation => "enableWeakerNetworkIsolation",
            allow_apple_events => "allowAppleEvents",
            allow_pty => "allowPty",
            mandatory_deny_search_depth => "mandatoryDenySearchDepth",
            ripgrep => "ripgrep",
            seccomp => "seccomp",
            bwrap_path => "bwrapPath",
            socat_path => "socatPath",
            java_agent_jar_path => "javaAgentJarPath",
            windows => "windows",
        )
    }
}

/// srt's file rules.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SrtFilesystem {
    pub(crate) deny_read: Option<Vec<PathEntry>>,
    pub(crate) allow_read: Vec<PathEntry>,
    pub(crate) allow_write: Option<Vec<PathEntry>>,
    pub(crate) deny_write: Option<Vec<PathEntry>>,
    pub(crate) disabled: Option<bool>,
    pub(crate) allow_git_config: Option<bool>,
}

/// srt's git options.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SrtGit {
    pub(crate) safe_directories: Vec<String>,
}
