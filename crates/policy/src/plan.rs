//! The Plan: what an engine has to build, as plain data.
//!
//! Everything an engine needs is in here and nothing else reaches it: no settings, no globs, no home
//! directory. `stockade plan` prints it, tests snapshot it, and two engines given one Plan must behave
//! alike.

use crate::{Limits, RuleRef};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// What an engine builds before a command may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The preset the policy started from.
    pub preset: String,
    /// The directory the command works in.
    pub workspace: PathBuf,
    /// What the sandbox's file system looks like before `mounts` are laid over it.
    pub root: RootView,
    /// Laid over the root in this order: a parent always comes before what lies below it.
    pub mounts: Vec<Mount>,
    /// The whole environment of the command.
    pub environment: Vec<Variable>,
    /// What the network looks like from inside.
    pub network: NetworkPlan,
    /// Which system calls are refused.
    pub syscalls: SyscallPlan,
    /// What the command may use up.
    pub limits: Limits,
    /// What the broker holds and judges; nothing is held where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<crate::BrokerPlan>,
    /// The walls this plan stands on.
    pub layers: Vec<LayerNeed>,
    /// What the person should know: rules without effect, values dropped, paths skipped.
    pub notices: Vec<Notice>,
}

/// The file system before any mount of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "view")]
pub enum RootView {
    /// Everything of the host, with these rights.
    Host {
        /// Rights wherever no mount says otherwise.
        rights: Rights,
    },
    /// Nothing but what the mounts bring in.
    Listed,
}

/// What may be done with the files of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rights {
    /// Contents and directory listings.
    pub read: bool,
    /// Contents, names, metadata.
    pub write: bool,
    /// Running programs and mapping libraries.
    pub execute: bool,
}

impl Rights {
    /// Look and run, change nothing.
    pub const READ_ONLY: Self = Self { read: true, write: false, execute: true };
    /// Everything.
    pub const ALL: Self = Self { read: true, write: true, execute: true };
}

/// One thing laid over the root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// Absolute, free of symbolic links, `.` and `..`.
    pub path: PathBuf,
    /// What is laid there.
    #[serde(flatten)]
    pub kind: MountKind,
    /// The rule that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
}

/// What is laid over a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum MountKind {
    /// The host's own file or directory, with these rights. A bind whose rights equal its surroundings
    /// is a *pin*: it only keeps the name from being renamed away.
    Bind {
        /// What the path was when the policy looked; anything else at the start aborts the start.
        identity: Identity,
        /// What may be done below, until a deeper mount says otherwise.
        rights: Rights,
    },
    /// The host's own directory seen through a layer of changes: what is written inside goes to the layer,
    /// and the host's files stay as they are. Binds and masks below it lie on what is seen.
    Overlay {
        /// What the path was when the policy looked.
        identity: Identity,
        /// What may be done below, until a deeper mount says otherwise.
        rights: Rights,
        /// The private directory of the layer: absolute and free of links, with `upper` for the changes and
        /// an empty `work` in it.
        directory: PathBuf,
    },
    /// Hides what is there.
    Mask {
        /// What the path was when the policy looked.
        identity: Identity,
        /// What is seen instead.
        look: MaskLook,
    },
    /// A private, empty file system in memory that ends with the sandbox.
    Tmpfs {
        /// Permission bits of its top directory.
        mode: u32,
        /// Bytes it may hold; the kernel's default (half the memory) when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    /// A private /dev with the harmless devices, `shm` and `pts`.
    Dev,
    /// A /proc of the sandbox's own processes, its dangerous parts covered.
    Proc,
    /// A private read-only file with this content. Its path may lie on the private /dev, where nothing has
    /// to be there before; elsewhere a file is there and gets covered.
    Content {
        /// What reading it gives.
        #[serde(with = "crate::text::bytes")]
        data: Vec<u8>,
        /// Permission bits.
        mode: u32,
    },
    /// A directory of the launcher's own, shown under this path: what is in it can be opened by its name, to
    /// read and, where it is a pipe, to write. Nothing in it can be listed, changed or made.
    Channel {
        /// Where it is on the host: absolute and free of links.
        source: PathBuf,
        /// What it was when the launcher made it.
        identity: Identity,
    },
    /// A symbolic link, in a `Listed` root (`/bin` → `usr/bin`).
    Symlink {
        /// Where it points.
        target: PathBuf,
    },
}

/// What a masked path looks like from inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MaskLook {
    /// A file or directory that cannot be opened.
    Unreadable,
    /// An empty directory (what srt's users expect).
    Empty,
    /// A directory that holds only what deeper mounts open again.
    Holes,
}

/// What a path was when the policy looked at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Directory or not.
    pub kind: FileKind,
}

/// The kinds of files a plan tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Anything else: regular file, socket, device, pipe.
    File,
}

/// One environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    #[serde(with = "crate::text")]
    pub name: OsString,
    /// Its value.
    #[serde(with = "crate::text")]
    pub value: OsString,
}

/// The network as the sandbox sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "mode")]
pub enum NetworkPlan {
    /// A network of its own with nothing but its own loopback.
    #[default]
    Loopback,
    /// A network of its own whose only way out is the gateway, which judges every connection.
    Gateway(Box<crate::GatewayPlan>),
    /// The host's network (only `unrestricted`).
    Host,
}

impl NetworkPlan {
    /// Whether the sandbox has a network of its own.
    pub fn own_namespace(&self) -> bool {
        !matches!(self, Self::Host)
    }

    /// What the gateway judges by, where there is one.
    pub fn gateway(&self) -> Option<&crate::GatewayPlan> {
        match self {
            Self::Gateway(plan) => Some(plan),
            Self::Loopback | Self::Host => None,
        }
    }
}

/// The system-call wall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SyscallPlan {
    /// AF_UNIX sockets: refused except stream and seqpacket pairs.
    pub unix_sockets: UnixSockets,
    /// New user namespaces inside (browsers' own sandboxes need them).
    pub nested_user_namespaces: Switch,
}

/// What AF_UNIX may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UnixSockets {
    /// Only `socketpair` of stream and seqpacket type.
    PairsOnly,
    /// Stream and seqpacket sockets too; the broker judges every path.
    Judged,
    /// Every AF_UNIX socket (srt's `allowAllUnixSockets`).
    All,
}

/// Refused or allowed, where a bool would not say which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Switch {
    /// Refused.
    #[default]
    Refused,
    /// Allowed.
    Allowed,
}

/// A wall the plan stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LayerNeed {
    /// Which wall.
    pub layer: crate::WallLayer,
    /// What happens when the machine does not have it.
    pub need: Need,
    /// The rule that needs it, where one rule does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<RuleRef>,
}

/// What a missing wall means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Need {
    /// The run stops.
    Required,
    /// The run goes on and the Outcome says the wall is missing.
    Wished,
}

/// Something a person should know about the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// What happened, in one sentence.
    pub text: String,
    /// Shown without being asked, or only with `-v`.
    pub weight: NoticeWeight,
}

/// How loudly a notice is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NoticeWeight {
    /// Changes what the person asked for.
    Warning,
    /// Good to know when looking closely.
    Detail,
}
