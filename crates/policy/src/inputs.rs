//! What a policy is made from.

use crate::{Layer, Limits, Switch};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// Everything a policy is made from.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The working directory: absolute, as given by the caller.
    pub cwd: PathBuf,
    /// The home directory, for `~`.
    pub home: Option<PathBuf>,
    /// The caller's environment, for `$VAR`.
    pub environment: Vec<(OsString, OsString)>,
    /// Stockade's own directories.
    pub own: OwnPaths,
    /// The preset asked for on the command line; otherwise the settings say, or it is `default`.
    pub preset: Option<String>,
    /// The settings files, weakest first.
    pub settings: Vec<SettingsFile>,
    /// Options of the command line.
    pub flags: Flags,
}

/// Stockade's own directories: masked inside, whatever the settings say.
#[derive(Clone, Debug, Default)]
pub struct OwnPaths {
    /// Settings.
    pub config: PathBuf,
    /// Audit log, sockets, sessions.
    pub state: PathBuf,
    /// Caches.
    pub cache: PathBuf,
    /// Records, where they are not kept in `state`.
    pub records: Option<PathBuf>,
    /// An existing private directory of this workspace below `cache`, for tools' caches.
    pub tool_cache: Option<PathBuf>,
    /// An existing private directory below `state` that takes the changes to the workspace, where they are to be
    /// held back.
    pub overlay: Option<PathBuf>,
    /// Workspaces that commands have worked in, without links. A link in one of them may be a command's.
    pub worked_in: Vec<PathBuf>,
}

/// One settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// Where it is.
    pub path: PathBuf,
    /// Who speaks in it.
    pub layer: Layer,
    /// Whose format it has.
    pub shape: Shape,
    /// Whether it must be there.
    pub presence: Presence,
    /// Whether somebody has looked at a project's file and trusts what it says.
    pub trust: Trust,
}

impl SettingsFile {
    /// A file that must be there, in Stockade's own shape, trusted no more than its layer is.
    pub fn named(path: impl Into<PathBuf>, layer: Layer) -> Self {
        Self {
            path: path.into(),
            layer,
            shape: Shape::Native,
            presence: Presence::Named,
            trust: Trust::Untrusted,
        }
    }

    /// The same, but it may be absent.
    pub fn optional(path: impl Into<PathBuf>, layer: Layer) -> Self {
        Self { presence: Presence::Optional, ..Self::named(path, layer) }
    }

    /// The same file in another shape.
    pub fn in_shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }
}

/// Whose format a settings file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Shape {
    /// Stockade's own.
    Native,
    /// srt's; presets and built-in lists do not apply then.
    Srt,
    /// Claude Code's `settings.json`: the `sandbox` block and the permission rules are heard.
    Claude,
    /// `sandbox.json`: a whitelist and a blacklist of paths.
    Simple,
}

/// Whether a project's file may loosen. Other layers may do what their layer may, whatever this says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trust {
    /// It may only tighten.
    Untrusted,
    /// The user has trusted this very content: it may give, too. What is on the default deny-read list, and
    /// mandatory protection, are not a project's to open.
    Trusted,
}

/// Whether a settings file must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Somebody named it: it must exist.
    Named,
    /// It may be absent. Unreadable, empty or broken is still an error.
    Optional,
    /// It may be absent, and a broken one is left out with a warning, as some are used to from `sandbox.json`.
    /// Heard for that shape only: everywhere else a broken file would be a policy with holes.
    OrDefaults,
}

/// Options of the command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flags {
    /// `--allow-write`.
    pub allow_write: Vec<String>,
    /// `--allow-read`.
    pub allow_read: Vec<String>,
    /// `--deny-read`.
    pub deny_read: Vec<String>,
    /// `--deny-write`.
    pub deny_write: Vec<String>,
    /// `--allow-unix`.
    pub allow_unix: Vec<String>,
    /// `--allow-domain`.
    pub allow_domains: Vec<String>,
    /// `--deny-domain`.
    pub deny_domains: Vec<String>,
    /// `--publish`: `8080`, or `8080:80` with the host's port first.
    pub publish: Vec<String>,
    /// `--forward-port`: `5432`, or `15432:5432` with the port inside first.
    pub forward_ports: Vec<String>,
    /// Whether the lists of hosts may change while a command runs (`--control-fd`).
    pub live_network: Switch,
    /// `--trace reads`: every open for reading is held, so that every refusal is recorded.
    pub trace_reads: Switch,
    /// `--ask`: somebody can be asked while a call waits.
    pub asking: Switch,
    /// `--env K=V`.
    pub env_set: Vec<(String, String)>,
    /// `--pass-env K`.
    pub env_pass: Vec<String>,
    /// `--memory`, `--timeout` and the like.
    pub limits: Limits,
    /// Permissions given earlier that have not ended.
    pub grants: Vec<Granted>,
}

/// A permission given earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// What may be done.
    pub list: GrantedList,
    /// The very path; no character in it is special. For hosts: `host` or `host:port`.
    pub path: PathBuf,
    /// The grant's name, for the rule's origin.
    pub id: String,
}

/// What a permission lets a command do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantedList {
    /// Read the path and what is below it.
    Read,
    /// Write the path and what is below it.
    Write,
    /// Reach the unix socket.
    Unix,
    /// Reach the host, on the port where one is named.
    Domain,
}
