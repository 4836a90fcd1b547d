//! `mount_setattr`, which rustix does not have.

use super::check;
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;
use std::ffi::CStr;

/// What [`set_attributes`] adds.
#[derive(Clone, Copy)]
pub(crate) struct Attributes {
    /// `MOUNT_ATTR_*` bits to set; bits are only ever added, clearing is the kernel's to refuse.
    pub(crate) set: u64,
    /// Cut off from the host's later mounts.
    pub(crate) private: bool,
    /// The whole tree instead of one mount.
    pub(crate) recursive: bool,
}

/// Changes the mount a descriptor or path refers to.
pub(crate) fn set_attributes(base: impl AsFd, path: &CStr, attributes: Attributes) -> Result<(), Errno> {
    let change = libc::mount_attr {
        attr_set: attributes.set,
        attr_clr: 0,
        propagation: if attributes.private { libc::MS_PRIVATE } else { 0 },
        userns_fd: 0,
    };
    let mut flags = libc::AT_SYMLINK_NOFOLLOW;
    if path.is_empty() {
        flags |= libc::AT_EMPTY_PATH;
    }
    if attributes.recursive {
        flags |= libc::AT_RECURSIVE;
    }
    // SAFETY: the path ends in NUL, the structure has the size we say, both outlive the call.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            base.as_fd().as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    })
    .map(drop)
}
