//! A Plan, compiled into what the first process does step by step.
//!
//! Everything the child needs is made here, before the clone: strings end in NUL, rights are kernel bits,
//! decisions such as "may this mount point be created?" are taken.

use super::doors::{self, DoorStep};
use super::seccomp::{self, Filter};
use super::sys::{self, landlock_rights as rights};
use crate::CreateError;
use rustix::mount::MountAttrFlags;
use std::collections::HashMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use stockade_policy::{
    FileKind, Identity, Limits, MaskLook, Mount, MountKind, NetworkPlan, Plan, Rights, RootView, Switch,
};

/// What the first process does.
pub(crate) struct Script {
    pub(crate) root: Root,
    pub(crate) steps: Vec<MountStep>,
    pub(crate) network: Network,
    /// Empty without Landlock.
    pub(crate) landlock: Vec<LandlockStep>,
    pub(crate) landlock_handled: u64,
    pub(crate) filter: Filter,
    /// Whether somebody can be asked, and may allow more than the walls do.
    pub(crate) asking: Switch,
    /// What the first process's own opens carry so that they are not held.
    pub(crate) cookie: u64,
    pub(crate) limits: Limits,
    pub(crate) caller: Caller,
}

/// The network the first process builds.
pub(crate) enum Network {
    /// None: the host's.
    Host,
    /// One with a loopback and nothing else; where a broker leads lookups to it, the kernel's words about them.
    Loopback(Vec<DoorStep>),
    /// One in which everything leads to these.
    Gateway(Vec<DoorStep>),
}

impl Network {
    fn compile(plan: &Plan) -> Self {
        match &plan.network {
            NetworkPlan::Host => Self::Host,
            NetworkPlan::Loopback if plan.broker.is_none() => Self::Loopback(Vec::new()),
            NetworkPlan::Loopback => Self::Loopback(doors::lookups()),
            NetworkPlan::Gateway(plan) => Self::Gateway(doors::steps(plan)),
        }
    }

    /// The listening sockets to be made.
    pub(crate) fn doors(&self) -> &[DoorStep] {
        match self {
            Self::Gateway(doors) | Self::Loopback(doors) => doors,
            Self::Host => &[],
        }
    }
}

/// Whose rights the sandbox is made with.
#[derive(Clone, Copy)]
pub(crate) enum Caller {
    Root,
    User,
}

impl Caller {
    /// Ours.
    pub(crate) fn ours() -> Self {
        if rustix::process::geteuid().is_root() { Self::Root } else { Self::User }
    }
}

/// What lies under the steps.
pub(crate) enum Root {
    /// The host's whole tree with these attributes added.
    Host(u64),
    /// A private empty tree.
    Listed,
}

/// One mount, with what is needed to report a failure.
pub(crate) struct MountStep {
    /// Relative to the root: `usr/lib`, empty for the root itself.
    pub(crate) path: CString,
    /// The same for messages, absolute.
    pub(crate) shown: PathBuf,
    /// The directory it lies in, and its name there.
    pub(crate) parent: CString,
    pub(crate) name: CString,
    /// Whether the mount point lies on a file system of our own, where it may (and must) be made.
    pub(crate) target: Target,
    pub(crate) kind: StepKind,
}

/// Where a step's mount point lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// On the host's files: it must be there and be what was checked.
    Host,
    /// On an overlay over the host's files: it must be there; that it is what was checked shows below.
    Overlay,
    /// On a file system of ours: make it.
    Ours,
}

/// Where a bind's tree is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// From the host.
    Host,
    /// From the overlay that was laid over the host's files there.
    Overlay,
}

pub(crate) enum StepKind {
    /// Attributes are added to a clone of the tree at the same path.
    Bind {
        identity: Identity,
        attributes: u64,
        source: Source,
    },
    /// The host's tree at the same path below a layer of changes.
    Overlay {
        identity: Identity,
        attributes: u64,
        /// Where the layer is, relative to the root.
        directory: CString,
    },
    Mask {
        identity: Identity,
        look: MaskLook,
    },
    Tmpfs {
        mode: CString,
        size: Option<CString>,
    },
    Dev,
    Proc,
    Symlink {
        target: CString,
    },
    /// A directory of the launcher's, from elsewhere on the host.
    Channel {
        identity: Identity,
        attributes: u64,
        /// Relative to the root.
        source: CString,
    },
    /// A read-only file of our own.
    Content {
        data: Vec<u8>,
        mode: u32,
    },
}

/// One Landlock rule.
pub(crate) struct LandlockStep {
    pub(crate) path: CString,
    pub(crate) access: u64,
}

impl Script {
    /// Compiles a plan for a kernel with this Landlock version.
    pub(crate) fn compile(plan: &Plan, landlock_abi: u32) -> Result<Self, CreateError> {
        let root = match plan.root {
            RootView::Host { rights } => Root::Host(attributes(rights)),
            RootView::Listed => Root::Listed,
        };
        let kinds = plan.mounts.iter().map(|mount| (mount.path.as_path(), &mount.kind)).collect();
        let mut steps =
            plan.mounts.iter().map(|mount| step(plan, mount, &kinds)).collect::<Result<Vec<_>, _>>()?;
        // The build needs a place to stand on until everything else is laid: /proc comes last.
        steps.sort_by_key(|step| matches!(step.kind, StepKind::Proc));
        if !matches!(steps.last(), Some(MountStep { kind: StepKind::Proc, .. })) {
            return Err(CreateError::Plan { reason: "it has no /proc".into() });
        }
        let overlays = steps.iter().filter(|step| matches!(step.kind, StepKind::Overlay { .. })).count();
        if overlays > 1 {
            return Err(CreateError::Plan { reason: "it has more than one overlay".into() });
        }
        let caller = Caller::ours();
        let cookie = sys::random_number().map_err(|errno| CreateError::Step {
            act: "get a random number",
            path: None,
            source: errno.into(),
            hint: "the kernel must offer getrandom",
        })?;
        let landlock_handled =
            if landlock_abi >= MIN_LANDLOCK_ABI { rights::handled(landlock_abi) } else { 0 };
        Ok(Self {
            root,
            landlock: if landlock_handled == 0 { Vec::new() } else { landlock(plan, landlock_handled)? },
            steps,
            network: Network::compile(plan),
            landlock_handled,
            filter: seccomp::assemble(plan, caller, cookie),
            cookie,
            asking: plan.broker.as_ref().map_or(Switch::Refused, |broker| broker.asking),
            limits: plan.limits.clone(),
            caller,
        })
    }
}

/// Before it, Landlock refuses every rename between directories.
pub(crate) const MIN_LANDLOCK_ABI: u32 = 2;

/// What is laid where, for looking up what a mount stands on.
type Kinds<'a> = HashMap<&'a Path, &'a MountKind>;

fn step(plan: &Plan, mount: &Mount, kinds: &Kinds<'_>) -> Result<MountStep, CreateError> {
    let relative = mount.path.strip_prefix("/").map_err(|_| not_absolute(&mount.path))?;
    let plain = |part| matches!(part, std::path::Component::Normal(_));
    if relative.as_os_str().is_empty() || !relative.components().all(plain) {
        return Err(not_absolute(&mount.path));
    }
    let kind = match &mount.kind {
        MountKind::Bind { identity, rights } => {
            let source = if overlaid(&mount.path, kinds) { Source::Overlay } else { Source::Host };
            StepKind::Bind { identity: *identity, attributes: attributes(*rights), source }
        }
        MountKind::Overlay { identity, rights, directory } => StepKind::Overlay {
            identity: *identity,
            attributes: attributes(*rights),
            directory: c_path(directory.strip_prefix("/").map_err(|_| not_absolute(directory))?)?,
        },
        MountKind::Mask { identity, look } => StepKind::Mask { identity: *identity, look: *look },
        MountKind::Tmpfs { mode, size } => StepKind::Tmpfs {
            mode: number(format!("{mode:o}"))?,
            size: size.map(|size| number(size.to_string())).transpose()?,
        },
        MountKind::Dev => StepKind::Dev,
        MountKind::Proc if mount.path == Path::new("/proc") => StepKind::Proc,
        MountKind::Proc => return Err(CreateError::Plan { reason: "proc must be at /proc".into() }),
        MountKind::Content { data, mode } => StepKind::Content { data: data.clone(), mode: *mode },
        MountKind::Channel { source, identity } => StepKind::Channel {
            identity: *identity,
            attributes: attributes(Rights { read: true, write: false, execute: false }),
            source: c_path(source.strip_prefix("/").map_err(|_| not_absolute(source))?)?,
        },
        MountKind::Symlink { target } => StepKind::Symlink { target: c_path(target)? },
    };
    Ok(MountStep {
        path: c_path(relative)?,
        shown: mount.path.clone(),
        parent: c_path(relative.parent().unwrap_or(Path::new("")))?,
        name: c_path(relative.file_name().map(Path::new).unwrap_or(Path::new("")))?,
        target: target(plan, mount, kinds),
        kind,
    })
}

/// A mount point lies on our own files if the nearest mount above it is one of ours.
fn target(plan: &Plan, mount: &Mount, kinds: &Kinds<'_>) -> Target {
    let above = mount.path.ancestors().skip(1).find_map(|above| Some((above, kinds.get(above)?)));
    match above {
        None if plan.root == RootView::Listed => Target::Ours,
        Some((_, MountKind::Overlay { .. })) => Target::Overlay,
        Some((path, MountKind::Bind { .. })) if overlaid(path, kinds) => Target::Overlay,
        None | Some((_, MountKind::Bind { .. })) => Target::Host,
        Some(_) => Target::Ours,
    }
}

/// Whether a path lies below an overlay.
fn overlaid(path: &Path, kinds: &Kinds<'_>) -> bool {
    path.ancestors().skip(1).any(|above| matches!(kinds.get(above), Some(MountKind::Overlay { .. })))
}

fn attributes(rights: Rights) -> u64 {
    let mut flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    if !rights.write {
        flags |= MountAttrFlags::MOUNT_ATTR_RDONLY;
    }
    if !rights.execute {
        flags |= MountAttrFlags::MOUNT_ATTR_NOEXEC;
    }
    flags.bits().into()
}

/// Landlock only knows "allowed from here downwards", so it mirrors what the mounts open and leaves what
/// they close again below to the mounts. It holds where mounts do not reach: descriptors from outside
/// that are reopened through /proc.
fn landlock(plan: &Plan, handled: u64) -> Result<Vec<LandlockStep>, CreateError> {
    let mut steps = Vec::new();
    let mut allow = |path: &Path, access: u64| -> Result<(), CreateError> {
        steps.push(LandlockStep { path: c_path(path)?, access: access & handled });
        Ok(())
    };
    let everywhere = match plan.root {
        RootView::Host { rights } => access(rights, FileKind::Directory),
        // Directories that lead to what is listed show nothing else.
        RootView::Listed => rights::READ_DIR,
    };
    allow(Path::new("/"), everywhere)?;
    let device = rights::READ_FILE | rights::READ_DIR | rights::WRITE_FILE;
    for mount in &plan.mounts {
        match &mount.kind {
            // What a link leads to has its own rule.
            MountKind::Bind { identity, .. } if identity.kind == FileKind::Symlink => {}
            MountKind::Bind { identity, rights } | MountKind::Overlay { identity, rights, .. } => {
                allow(&mount.path, access(*rights, identity.kind))?;
            }
            MountKind::Tmpfs { .. } => allow(&mount.path, u64::MAX)?,
            MountKind::Dev => {
                allow(&mount.path, device)?;
                allow(&mount.path.join("shm"), u64::MAX)?;
            }
            MountKind::Proc => allow(&mount.path, device)?,
            MountKind::Mask { identity, .. } if identity.kind == FileKind::Directory => {
                allow(&mount.path, rights::READ_DIR)?;
            }
            MountKind::Content { .. } => allow(&mount.path, rights::READ_FILE)?,
            MountKind::Channel { .. } => allow(&mount.path, rights::READ_FILE | rights::WRITE_FILE)?,
            MountKind::Mask { .. } | MountKind::Symlink { .. } => {}
        }
    }
    Ok(steps)
}

fn access(rights: Rights, kind: FileKind) -> u64 {
    let mut access = 0;
    if rights.read {
        access |= rights::READ_FILE | rights::READ_DIR;
    }
    if rights.execute {
        access |= rights::EXECUTE;
    }
    if rights.write {
        access |= !(rights::READ_FILE | rights::READ_DIR | rights::EXECUTE);
    }
    if kind == FileKind::Directory { access } else { access & rights::FILE }
}

/// A path as the kernel wants it.
pub(crate) fn c_path(path: &Path) -> Result<CString, CreateError> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| CreateError::Plan { reason: format!("{} holds a NUL byte", path.display()) })
}

fn number(text: String) -> Result<CString, CreateError> {
    CString::new(text).map_err(|_| CreateError::Plan { reason: "a number holds a NUL byte".into() })
}

fn not_absolute(path: &Path) -> CreateError {
    CreateError::Plan { reason: format!("{} is not an absolute, plain path below the root", path.display()) }
}
