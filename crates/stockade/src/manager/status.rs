//! What a manager says about itself.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A manager at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagerStatus {
    /// Whether there is a sandbox.
    pub state: ManagerState,
    /// Where the shell is, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Commands that were run so far.
    pub commands: u64,
    /// Commands that run in the background.
    pub background: usize,
    /// Permissions that were given through this manager.
    pub grants: usize,
    /// What a person has to be shown: the settings switch the walls off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Whether a manager has a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ManagerState {
    /// Nothing has been run yet.
    NotCreated,
    /// It stands, or will again with the next command.
    Running,
    /// The settings want none: commands run without walls.
    Bare,
    /// It was shut down.
    ShutDown,
}

/// One sandbox of a manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxInfo {
    /// Its name.
    pub id: String,
    /// Whether it stands.
    pub status: SandboxStatus,
}

/// Whether a sandbox stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxStatus {
    /// It does.
    Running,
    /// It does not.
    Stopped,
}
