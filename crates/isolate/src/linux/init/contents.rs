//! Files of our own with a content that was prepared.

use super::staging::{Staging, attach};
use crate::linux::sys::{Attributes, set_attributes};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, OpenTreeFlags, open_tree};
use std::ffi::CStr;

/// Lays a read-only file with this content over `target`. It stays in the staging under `name`.
pub(super) fn lay(
    staging: &Staging,
    name: &CStr,
    (data, mode): (&[u8], u32),
    target: OwnedFd,
) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(&staging.top, name, flags, Mode::from_raw_mode(mode))?;
    let mut rest = data;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    // Or the kernel sees a writer, and the file system cannot be frozen.
    drop(file);
    let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let laid = open_tree(&staging.top, name, clone)?;
    let set = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    set_attributes(&laid, c"", Attributes { set: set.bits().into(), private: false, recursive: false })?;
    attach(&laid, target)
}
