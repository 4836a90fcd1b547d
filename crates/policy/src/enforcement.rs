//! Which walls really stood. Reported with every Outcome, never assumed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WallLayer {
    /// Own users: what makes the other namespaces possible without root.
    UserNamespace,
    /// Own mounts: read, write and execute rules.
    MountNamespace,
    /// Own processes.
    PidNamespace,
    /// Own System V and POSIX message objects.
    IpcNamespace,
    /// Own host name.
    UtsNamespace,
    /// Own view of the cgroup tree.
    CgroupNamespace,
    /// Own network.
    NetworkNamespace,
    /// The second wall for files.
    Landlock,
    /// The system-call table.
    Seccomp,
    /// No capabilities, no way to gain any.
    Privileges,
    /// Per-process limits: file size, descriptors, core dumps.
    ProcessLimits,
    /// Wall-clock time and output volume, held by the launcher.
    Launcher,
    /// Memory, processor and process-count limits.
    Cgroup,
    /// Names that do not exist yet, exact violations, live grants.
    Broker,
    /// Network judged by name.
    Gateway,
}

impl fmt::Display for WallLayer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::UserNamespace => "user namespace",
            Self::MountNamespace => "mount namespace",
            Self::PidNamespace => "pid namespace",
            Self::IpcNamespace => "ipc namespace",
            Self::UtsNamespace => "uts namespace",
            Self::CgroupNamespace => "cgroup namespace",
            Self::NetworkNamespace => "network namespace",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Privileges => "privileges",
            Self::ProcessLimits => "process limits",
            Self::Launcher => "launcher",
            Self::Cgroup => "cgroup",
            Self::Broker => "broker",
            Self::Gateway => "gateway",
        })
    }
}

/// What became of one wall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum LayerState {
    /// It stood.
    Enforced {
        /// ABI version or mode, where there is one to tell.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        detail: String,
    },
    /// The plan had nothing for it to do.
    NotNeeded,
    /// The plan wished for it and it was not there.
    Missing {
        /// Why, and what would mend it.
        reason: String,
    },
}

/// One wall and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerReport {
    /// Which wall.
    pub layer: WallLayer,
    /// What became of it.
    #[serde(flatten)]
    pub state: LayerState,
}

/// Every wall of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Enforcement {
    /// In the order of [`WallLayer`].
    pub layers: Vec<LayerReport>,
}

impl Enforcement {
    /// The state of one wall, if the run knew of it.
    pub fn state(&self, layer: WallLayer) -> Option<&LayerState> {
        self.layers.iter().find(|report| report.layer == layer).map(|report| &report.state)
    }

    /// Replaces or adds one wall's report, keeping the order.
    pub fn set(&mut self, layer: WallLayer, state: LayerState) {
        match self.layers.binary_search_by_key(&layer, |report| report.layer) {
            Ok(at) => self.layers[at].state = state,
            Err(at) => self.layers.insert(at, LayerReport { layer, state }),
        }
    }
}
