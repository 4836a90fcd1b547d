//! The shape of Stockade's own settings files and presets.

use super::commands::CommandSettings;
use super::credentials::Credentials;
use super::network::NetworkSettings;
use super::path_entry::PathEntry;
use crate::{AuditMode, IgnoreRule, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of Stockade. Every key may be left out.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(title = "Stockade settings")]
pub(crate) struct Settings {
    /// Where editors find the schema of this file.
    #[serde(rename = "$schema")]
    pub(crate) _schema: Option<String>,
    /// The preset to start from: default, strict, development, testing, production, docker, webscraping, aicode, unrestricted.
    pub(crate) preset: Option<String>,
    /// `false` runs commands without walls. Only heard from the user's settings and flags.
    pub(crate) enabled: Option<bool>,
    /// The kind of sandbox; `local` uses the best engine of this machine.
    pub(crate) provider: Option<String>,
    /// The engine of the local provider.
    pub(crate) engine: Option<String>,
    /// Whether a caller may ask for one command without walls.
    pub(crate) allow_unsandboxed_commands: Option<bool>,
    /// Commands that run without walls: `npm run lint`, `npm run test:*`, `docker*`. Every part of a compound
    /// command must be listed. Only heard from the user's settings and flags.
    pub(crate) excluded_commands: Vec<String>,
    /// The systems with walls: linux, macos, windows, wsl; commands run without on others. Only heard from the
    /// user's settings and flags.
    pub(crate) enabled_platforms: Option<Vec<String>>,
    /// `false` runs commands without walls where none can be built. Only heard from the user's settings and flags.
    pub(crate) fail_if_unavailable: Option<bool>,
    /// Whether a command behind walls may run before a person has agreed; `true` when not said.
    pub(crate) auto_allow_bash_if_sandboxed: Option<bool>,
    /// Rules about whole commands.
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) commands: CommandSettings,
    /// Whether commands may make user namespaces of their own (browsers' sandboxes do).
    pub(crate) allow_nested_user_namespaces: Option<bool>,
    /// What may be done with files.
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) filesystem: FilesystemSettings,
    /// What may be reached.
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) network: NetworkSettings,
    /// Secrets that are taken away, or replaced by a stand-in.
    #[serde(deserialize_with = "super::object::maybe")]
    pub(crate) credentials: Option<Credentials>,
    /// Which environment variables cross the wall.
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) environment: EnvironmentSettings,
    /// What may be used up.
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) limits: Limits,
    /// Whether every layer must stand (`all`) or those the rules need (`needed`).
    pub(crate) require_layers: Option<RequireLayers>,
    /// Whether every decision is written to the audit log; with `required` nothing runs without one.
    pub(crate) audit: Option<AuditMode>,
    /// What is shown and kept of refused acts.
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) violations: ViolationSettings,
}

/// What is shown and kept of refused acts.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ViolationSettings {
    /// Refusals that are not shown. They are kept and counted all the same.
    #[serde(deserialize_with = "super::object::many")]
    pub(crate) ignore: Vec<IgnoreRule>,
    /// Days that refusals are kept; 30 when not said.
    pub(crate) keep_days: Option<u32>,
    /// How many refusals are kept, the newest; 100000 when not said.
    pub(crate) keep_rows: Option<u32>,
}

/// What may be done with files.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct FilesystemSettings {
    /// `all`: everything may be read that is not denied. `workspace`: only system directories, the workspace and listed paths.
    pub(crate) read_scope: Option<ReadScope>,
    /// May be read, also inside a denied directory.
    pub(crate) allow_read: Vec<PathEntry>,
    /// May not be read.
    pub(crate) deny_read: Vec<PathEntry>,
    /// May be written.
    pub(crate) allow_write: Vec<PathEntry>,
    /// May not be written; beats every allowWrite.
    pub(crate) deny_write: Vec<PathEntry>,
    /// May be run; a list that is not empty turns the default into "nothing else".
    pub(crate) allow_execute: Vec<PathEntry>,
    /// May not be run; beats every allowExecute.
    pub(crate) deny_execute: Vec<PathEntry>,
    /// Patterns with the operations they allow.
    #[serde(deserialize_with = "super::object::many")]
    pub(crate) allowed_paths: Vec<PathOperations>,
    /// Patterns with the operations they deny.
    #[serde(deserialize_with = "super::object::many")]
    pub(crate) denied_paths: Vec<PathOperations>,
    /// Mandatory protection, one switch for each group.
    #[serde(deserialize_with = "super::object::one")]
    pub(crate) protection: ProtectionSettings,
    /// Whether /tmp is a private, empty one or the host's.
    pub(crate) temporary: Option<Temporary>,
    /// Whether tools get a private cache that lives on between runs, or one that ends with the run.
    pub(crate) caches: Option<Caches>,
}

/// A pattern with operations.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PathOperations {
    /// A path or glob.
    pub(crate) pattern: String,
    /// What the entry is about.
    pub(crate) operations: Vec<Operation>,
}

/// Something that can be done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Operation {
    /// Contents and listings.
    Read,
    /// Contents, names, metadata.
    Write,
    /// Running it.
    Execute,
}

/// How far reading goes when no rule speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ReadScope {
    /// Everything.
    All,
    /// System directories, the workspace, listed paths.
    Workspace,
}

/// What /tmp is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Temporary {
    /// Empty at the start, gone at the end.
    Private,
    /// The host's.
    Host,
}

/// Where tools' caches live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Caches {
    /// In a directory of this workspace that lives on.
    Persistent,
    /// In the private /tmp.
    Temporary,
}

/// Switched on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum OnOff {
    /// On.
    On,
    /// Off.
    Off,
}

/// Which layers must stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RequireLayers {
    /// Every one.
    All,
    /// Those the rules need.
    Needed,
}

/// Mandatory protection. Only the user's, the organisation's settings and flags may switch a group off.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ProtectionSettings {
    /// Git hooks, configuration and redirects.
    pub(crate) git: Option<OnOff>,
    /// Start-up files of shells, direnv.
    pub(crate) shell: Option<OnOff>,
    /// Editors' project settings.
    pub(crate) ide: Option<OnOff>,
    /// Agents' settings, hooks and MCP servers.
    pub(crate) agent: Option<OnOff>,
}

/// Which environment variables cross the wall.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct EnvironmentSettings {
    /// `allowlist`: the built-in list and `allow`. `all`: everything but secrets and `deny`. `none`: only `allow`.
    pub(crate) inherit: Option<Inherit>,
    /// Names that cross, `*` at the end allowed.
    pub(crate) allow: Vec<String>,
    /// Names that never cross, `*` at the end allowed.
    pub(crate) deny: Vec<String>,
    /// Names and values given to every command.
    pub(crate) set: BTreeMap<String, String>,
}

/// What of the caller's environment crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Inherit {
    /// The built-in list and `allow`.
    Allowlist,
    /// Everything but secrets and `deny`.
    All,
    /// Only `allow`.
    None,
}
