//! The private /dev and the fresh /proc.

use super::staging::{PLACE, Staging, attach, new_tmpfs};
use crate::linux::sys::{Attributes, set_attributes};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat, symlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen, mount_bind, open_tree,
};
use std::ffi::CStr;

/// Devices without memory or effect on the machine, as they are on the host, and where to find them.
const DEVICES: [(&CStr, &CStr); 6] = [
    (c"null", c"/proc/p/dev/null"),
    (c"zero", c"/proc/p/dev/zero"),
    (c"full", c"/proc/p/dev/full"),
    (c"random", c"/proc/p/dev/random"),
    (c"urandom", c"/proc/p/dev/urandom"),
    (c"tty", c"/proc/p/dev/tty"),
];

const LINKS: [(&CStr, &CStr); 5] = [
    (c"fd", c"/proc/self/fd"),
    (c"stdin", c"/proc/self/fd/0"),
    (c"stdout", c"/proc/self/fd/1"),
    (c"stderr", c"/proc/self/fd/2"),
    (c"ptmx", c"pts/ptmx"),
];

const READ_ONLY: Attributes =
    Attributes { set: MountAttrFlags::MOUNT_ATTR_RDONLY.bits() as u64, private: false, recursive: false };

const DEVICE: Attributes = Attributes {
    set: MountAttrFlags::MOUNT_ATTR_RDONLY
        .union(MountAttrFlags::MOUNT_ATTR_NOSUID)
        .union(MountAttrFlags::MOUNT_ATTR_NOEXEC)
        .bits() as u64,
    private: false,
    recursive: false,
};

/// Lays a private /dev over `place`. Its devices are mount points and cannot be replaced; what else is
/// made in it is nobody's business and ends with the sandbox.
pub(super) fn lay(staging: &Staging, place: OwnedFd) -> Result<(), Errno> {
    let dev = new_tmpfs(c"755", None)?;
    attach(&dev, place)?;
    mkdirat(&dev, c"pts", Mode::from_raw_mode(0o755))?;
    mkdirat(&dev, c"shm", Mode::from_raw_mode(0o1777))?;
    for (name, target) in LINKS {
        symlinkat(target, &dev, name)?;
    }
    rustix::process::fchdir(&dev)?;
    for (name, source) in DEVICES {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(&dev, name, flags, Mode::from_raw_mode(0o666))?;
        // A container may lack one; programs then see an ordinary file.
        if present(mount_bind(source, name))? {
            // Writing to a device is not writing to its file system; changing its mode or times is, and a
            // root caller owns the host's devices.
            set_attributes(&dev, name, DEVICE)?;
        }
    }
    attach(&new_terminals()?, openat(&dev, c"pts", PLACE, Mode::empty())?)?;
    rustix::process::fchdir(&staging.top)
}

fn new_terminals() -> Result<OwnedFd, Errno> {
    let context = fsopen(c"devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, c"mode", c"620")?;
    fsconfig_set_string(&context, c"ptmxmode", c"666")?;
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

/// A /proc of our own process namespace, not yet anywhere.
pub(super) fn new_proc() -> Result<OwnedFd, Errno> {
    let context = fsopen(c"proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

/// Files that root may read or write without any capability, and that tell about or act on the machine.
const ROOT_FILES: [&CStr; 12] = [
    c"/proc/sysrq-trigger",
    c"/proc/kcore",
    c"/proc/keys",
    c"/proc/timer_list",
    c"/proc/kpagecount",
    c"/proc/kpageflags",
    c"/proc/kpagecgroup",
    c"/proc/slabinfo",
    c"/proc/vmallocinfo",
    c"/proc/pagetypeinfo",
    c"/proc/sched_debug",
    c"/proc/mtrr",
];

/// The first process is a copy of the launcher: its command line is the launcher's.
const FIRST_PROCESS: &CStr = c"/proc/1";

/// What covers parts of /proc: clones of the staging's unreadable file and directory, made while the
/// staging still stands.
pub(super) struct Covers {
    file: OwnedFd,
    directory: OwnedFd,
}

impl Covers {
    pub(super) fn take(staging: &Staging) -> Result<Self, Errno> {
        let clone = |name: &CStr| {
            let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
            open_tree(&staging.top, name, flags)
        };
        Ok(Self { file: clone(c"f")?, directory: clone(c"d")? })
    }

    /// Covers what a root caller owns in /proc even without capabilities.
    pub(super) fn lay(&self) -> Result<(), Errno> {
        for name in [c"/proc/sys", c"/proc/irq", c"/proc/bus", c"/proc/fs"] {
            if present(mount_bind(name, name))? {
                set_attributes(CWD, name, READ_ONLY)?;
            }
        }
        lay_all(&self.file, &ROOT_FILES)?;
        lay_all(&self.directory, &[FIRST_PROCESS, c"/proc/acpi", c"/proc/scsi"])
    }
}

/// The first gets the clone itself, the others are bound from there: a tenth of the cost of a clone each.
fn lay_all(cover: &OwnedFd, names: &[&CStr]) -> Result<(), Errno> {
    let mut first: Option<&CStr> = None;
    for name in names {
        let laid = match first {
            Some(first) => mount_bind(first, *name),
            None => openat(CWD, *name, PLACE, Mode::empty()).and_then(|place| attach(cover, place)),
        };
        if present(laid)? && first.is_none() {
            first = Some(name);
        }
    }
    Ok(())
}

/// Kernels are built with different parts of /proc: what is not there needs no cover.
fn present(result: Result<(), Errno>) -> Result<bool, Errno> {
    match result {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}
