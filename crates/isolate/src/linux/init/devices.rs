//! The private /dev and the fresh /proc.

use super::staging::{PLACE, Staging, attach, clone_of, new_tmpfs, place};
use crate::linux::script::Caller;
use crate::linux::sys::{Attributes, set_attributes};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat, symlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen, mount_bind, open_tree,
};
use std::ffi::CStr;

/// Devices without memory or effect on the machine, and where the staging shows the host's.
const DEVICES: [(&CStr, &CStr); 5] = [
    (c"null", c"/proc/v/null"),
    (c"zero", c"/proc/v/zero"),
    (c"full", c"/proc/v/full"),
    (c"urandom", c"/proc/v/urandom"),
    (c"tty", c"/proc/v/tty"),
];

/// Since Linux 5.18 random and urandom are the same device in all but name.
const LINKS: [(&CStr, &CStr); 6] = [
    (c"random", c"urandom"),
    (c"fd", c"/proc/self/fd"),
    (c"stdin", c"/proc/self/fd/0"),
    (c"stdout", c"/proc/self/fd/1"),
    (c"stderr", c"/proc/self/fd/2"),
    (c"ptmx", c"pts/ptmx"),
];

const READ_ONLY: Attributes =
    Attributes { set: MountAttrFlags::MOUNT_ATTR_RDONLY.bits() as u64, private: false, recursive: false };

/// The host's /dev as devices are taken from it, not yet anywhere. Writing to a device is not writing to
/// its file system; changing its mode or times is, and a root caller owns the host's devices.
pub(super) fn host_devices(host: &OwnedFd) -> Result<OwnedFd, Errno> {
    let devices = clone_of(&place(host, c"dev")?)?;
    let set = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    set_attributes(&devices, c"", Attributes { set: set.bits().into(), private: false, recursive: true })?;
    Ok(devices)
}

/// Lays a private /dev over `place`. Its devices are mount points and cannot be replaced; what else is
/// made in it is nobody's business and ends with the sandbox.
pub(super) fn lay(staging: &Staging, target: OwnedFd) -> Result<(), Errno> {
    let dev = new_tmpfs(c"755", None)?;
    attach(&dev, target)?;
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
        present(mount_bind(source, name))?;
    }
    attach(&new_terminals()?, openat(&dev, c"pts", PLACE, Mode::empty())?)?;
    rustix::process::fchdir(&staging.top)?;
    // What stays behind in the staging shows names and opens nothing.
    let set = MountAttrFlags::MOUNT_ATTR_NODEV.bits().into();
    set_attributes(CWD, c"/proc/v", Attributes { set, private: false, recursive: true })
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

/// Directories whose files root may write.
const ROOT_DIRECTORIES: [&CStr; 4] = [c"/proc/sys", c"/proc/irq", c"/proc/bus", c"/proc/fs"];

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

    /// Covers what a root caller owns in /proc even without capabilities. To others the kernel refuses
    /// most of it anyway.
    pub(super) fn lay(&self, caller: Caller) -> Result<(), Errno> {
        let (read_only, files, directories): (&[&CStr], &[&CStr], &[&CStr]) = match caller {
            Caller::Root => (&ROOT_DIRECTORIES, &ROOT_FILES, &[FIRST_PROCESS, c"/proc/acpi", c"/proc/scsi"]),
            Caller::User => (&[c"/proc/sys"], &[c"/proc/keys"], &[FIRST_PROCESS]),
        };
        for name in read_only {
            if present(mount_bind(*name, *name))? {
                set_attributes(CWD, name, READ_ONLY)?;
            }
        }
        lay_all(&self.file, files)?;
        lay_all(&self.directory, directories)
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
