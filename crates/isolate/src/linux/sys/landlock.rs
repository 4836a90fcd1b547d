//! Landlock's three calls.
//!
//! Not the landlock crate: rules name paths that exist only inside the new mounts, so they are added by
//! the sandbox's first process, where nothing may be allocated.

use super::check;
use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use rustix::io::Errno;

/// Access rights to files, as the kernel numbers them.
pub(crate) mod rights {
    pub(crate) const EXECUTE: u64 = 1;
    pub(crate) const WRITE_FILE: u64 = 1 << 1;
    pub(crate) const READ_FILE: u64 = 1 << 2;
    pub(crate) const READ_DIR: u64 = 1 << 3;
    const FIRST_ABI_LAST: u64 = 1 << 12;
    const REFER: u64 = 1 << 13;
    pub(crate) const TRUNCATE: u64 = 1 << 14;

    /// What the engine hands over to Landlock at an ABI. Device ioctls (ABI 5) stay out: the private /dev
    /// holds only harmless devices, and terminals need theirs.
    pub(crate) fn handled(abi: u32) -> u64 {
        let mut all = (FIRST_ABI_LAST << 1) - 1;
        if abi >= 2 {
            all |= REFER;
        }
        if abi >= 3 {
            all |= TRUNCATE;
        }
        all
    }

    /// Those that make sense on something that is not a directory.
    pub(crate) const FILE: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE;
}

const CREATE_RULESET_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;

/// The kernel's Landlock version; 0 without Landlock.
pub(crate) fn abi() -> u32 {
    // SAFETY: a null structure of size 0 with this flag only asks for the version.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0usize,
            CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// A set of rules being made.
pub(crate) struct Ruleset(OwnedFd);

#[repr(C)]
struct RulesetAttributes {
    handled_access_fs: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed_access: u64,
    parent_fd: i32,
}

impl Ruleset {
    /// An empty set: everything handled is refused.
    pub(crate) fn new(handled: u64) -> Result<Self, Errno> {
        let attributes = RulesetAttributes { handled_access_fs: handled };
        // SAFETY: the structure has the size we say and outlives the call.
        let fd = check(unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                &raw const attributes,
                size_of::<RulesetAttributes>(),
                0,
            )
        })?;
        // SAFETY: the kernel just gave us this descriptor.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    /// Allows `access` at and below what `at` refers to.
    pub(crate) fn allow(&self, at: impl AsFd, access: u64) -> Result<(), Errno> {
        let rule = PathBeneath { allowed_access: access, parent_fd: at.as_fd().as_raw_fd() };
        // SAFETY: the rule outlives the call and has the layout of its type number.
        check(unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.0.as_raw_fd(),
                RULE_PATH_BENEATH,
                &raw const rule,
                0,
            )
        })
        .map(drop)
    }

    /// The same set under a number not below `lowest`.
    pub(crate) fn lift(&self, lowest: i32) -> Result<Self, Errno> {
        rustix::io::fcntl_dupfd_cloexec(&self.0, lowest).map(Self)
    }

    /// Applies the set to this process for ever.
    pub(crate) fn restrict_self(&self) -> Result<(), Errno> {
        // SAFETY: only a descriptor and flags are passed.
        check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.0.as_raw_fd(), 0) }).map(drop)
    }
}
