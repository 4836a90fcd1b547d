//! The shape of Claude Code's `settings.json`.
//!
//! The file says much that is no business of a sandbox: keys outside these are not looked at.

use super::path_entry::PathEntry;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The parts of the file that say what commands may do.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaudeSettings {
    #[serde(deserialize_with = "super::object::maybe")]
    pub(crate) sandbox: Option<ClaudeSandbox>,
    #[serde(deserialize_with = "super::object::maybe")]
    pub(crate) permissions: Option<ClaudePermissions>,
}

/// The `sandbox` block. Keys that are not known here are listed, not refused: the file belongs to another program.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ClaudeSandbox {
    pub(crate) enabled: Option<bool>,
    pub(crate) auto_allow_bash_if_sandboxed: Option<bool>,
    pub(crate) allow_unsandboxed_commands: Option<bool>,
    pub(crate) fail_if_unavailable: Option<bool>,
    pub(crate) enabled_platforms: Option<Vec<String>>,
    pub(crate) excluded_commands: Vec<String>,
    pub(crate) ignore_violations: BTreeMap<String, Vec<String>>,
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) network: ClaudeNetwork,
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) filesystem: ClaudeFilesystem,
}

/// What may be reached.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ClaudeNetwork {
    pub(crate) allowed_domains: Vec<String>,
    pub(crate) denied_domains: Vec<String>,
    /// Heard from managed settings: the hosts named there are all.
    pub(crate) allow_managed_domains_only: Option<bool>,
    pub(crate) allow_unix_sockets: Vec<String>,
    pub(crate) allow_all_unix_sockets: Option<bool>,
    pub(crate) allow_local_binding: Option<bool>,
    pub(crate) http_proxy_port: Option<u16>,
    pub(crate) socks_proxy_port: Option<u16>,
}

/// What may be done with files.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ClaudeFilesystem {
    pub(crate) allow_write: Vec<PathEntry>,
    pub(crate) deny_write: Vec<PathEntry>,
    pub(crate) deny_read: Vec<PathEntry>,
    pub(crate) allow_read: Vec<PathEntry>,
}

/// Rules about tools. `defaultMode` and the like are about the agent's own asking.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct ClaudePermissions {
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) ask: Vec<String>,
    pub(crate) additional_directories: Vec<String>,
}
