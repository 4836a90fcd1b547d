//! The place to stand on while the mounts are rearranged.
//!
//! A small private file system is laid over /proc until the real one comes to lie on top of it. It holds
//! what masks are made of: `f`, a file nobody can open; `d`, a directory nobody can open; `e`, an empty
//! one; and `0`, `1`, ... for masked directories with holes; besides those `c0`, `c1`, ..., files with a
//! content of our own; `v`, where the host's devices are
//! taken from, and `r`, where a listed root is put together. Masks come from a file system without mounts on it, because
//! the kernel looks through all of them for every bind. It is never unmounted, which would make the kernel
//! wait for all its readers: it is out of reach, and of the host's files it shows only the names of devices.

use super::{Built, During};
use crate::linux::wire::Step;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_reconfigure, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, fspick, move_mount,
    open_tree,
};
use std::ffi::CStr;

pub(super) struct Staging {
    /// The file system itself.
    pub(super) top: OwnedFd,
}

/// A descriptor that only names a place.
pub(super) const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

impl Staging {
    /// Lays the staging over /proc, with the host's devices in it.
    pub(super) fn lay(devices: &OwnedFd) -> Result<Self, Errno> {
        let mounted = new_tmpfs(c"755", None)?;
        attach(&mounted, openat(CWD, c"/proc", PLACE | OFlags::DIRECTORY, Mode::empty())?)?;
        for (name, mode) in [(c"d", 0o000), (c"e", 0o555), (c"v", 0o755)] {
            mkdirat(&mounted, name, Mode::from_raw_mode(mode))?;
        }
        openat(
            &mounted,
            c"f",
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        attach(devices, openat(&mounted, c"v", PLACE, Mode::empty())?)?;
        Ok(Self { top: mounted })
    }

    /// From now on nothing in it changes, masks included.
    pub(super) fn freeze(&self) -> Built {
        let freeze = || {
            let picked = fspick(
                &self.top,
                c"",
                rustix::mount::FsPickFlags::FSPICK_CLOEXEC | rustix::mount::FsPickFlags::FSPICK_EMPTY_PATH,
            )?;
            fsconfig_set_flag(&picked, c"ro")?;
            fsconfig_reconfigure(&picked)
        };
        freeze().during(Step::Staging)
    }
}

/// A clone of a place and all that is mounted below it, not yet anywhere.
pub(super) fn clone_of(place: &OwnedFd) -> Result<OwnedFd, Errno> {
    open_tree(
        place,
        c"",
        OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH
            | OpenTreeFlags::AT_RECURSIVE,
    )
}

/// A new file system in memory, not yet anywhere.
pub(super) fn new_tmpfs(mode: &CStr, size: Option<&CStr>) -> Result<OwnedFd, Errno> {
    let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, c"mode", mode)?;
    if let Some(size) = size {
        fsconfig_set_string(&context, c"size", size)?;
    }
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

/// Attaches a detached mount to a place.
pub(super) fn attach(mount: &OwnedFd, place: OwnedFd) -> Result<(), Errno> {
    move_mount(
        mount,
        c"",
        place,
        c"",
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH,
    )
}

/// Opens a place below `root` without following any symbolic link.
pub(super) fn place(root: &OwnedFd, path: &CStr) -> Result<OwnedFd, Errno> {
    if path.is_empty() {
        return rustix::io::fcntl_dupfd_cloexec(root, 0);
    }
    openat2(root, path, PLACE, Mode::empty(), ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS)
}
