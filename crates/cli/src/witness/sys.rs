//! System calls that nothing but a witness wants to make.
#![expect(unsafe_code, reason = "these calls must be refused, so no library offers them safely")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Puts a copy of a descriptor where a child would inherit it, and leaves it there.
pub(crate) fn plant(descriptor: BorrowedFd<'_>, lowest: RawFd) -> io::Result<RawFd> {
    // SAFETY: F_DUPFD reads no memory; the descriptor is open as long as it is borrowed.
    checked(unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD, lowest) }.into())?
        .try_into()
        .map_err(io::Error::other)
}

/// Attaches to a process as a debugger would.
pub(super) fn trace(pid: libc::c_long) -> io::Result<()> {
    // SAFETY: PTRACE_SEIZE takes numbers only.
    checked(unsafe { libc::syscall(libc::SYS_ptrace, libc::PTRACE_SEIZE, pid, 0_usize, 0_usize) }).map(drop)
}

/// Sets up a ring for one entry.
pub(super) fn io_uring() -> io::Result<()> {
    // Larger than `io_uring_params` is in any kernel, and zero, which asks for nothing special.
    let mut parameters = [0_u64; 64];
    // SAFETY: the kernel fills the parameters within the array, which outlives the call. The descriptor
    // it may return ends with this process.
    checked(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1_usize, parameters.as_mut_ptr()) }).map(drop)
}

/// Moves this process into a user namespace of its own.
pub(super) fn new_user_namespace() -> io::Result<()> {
    // SAFETY: takes a number only, and changes nothing but what this process may do.
    checked(unsafe { libc::syscall(libc::SYS_unshare, libc::CLONE_NEWUSER) }).map(drop)
}

/// Asks for the session keyring.
pub(super) fn session_keyring() -> io::Result<()> {
    const GET_KEYRING_ID: usize = 0;
    const SESSION_KEYRING: isize = -3;
    // SAFETY: this operation takes numbers only.
    checked(unsafe { libc::syscall(libc::SYS_keyctl, GET_KEYRING_ID, SESSION_KEYRING, 0_usize) }).map(drop)
}

/// Makes the smallest possible array map.
pub(super) fn bpf() -> io::Result<()> {
    const MAP_CREATE: usize = 0;
    const ARRAY: u32 = 2;
    // Type, size of a key, size of a value, entries; the rest of the attributes is zero.
    let mut attributes = [0_u32; 32];
    attributes[..4].copy_from_slice(&[ARRAY, 4, 4, 1]);
    // SAFETY: the attributes are read within the given size and outlive the call. The descriptor it may
    // return ends with this process.
    checked(unsafe {
        libc::syscall(libc::SYS_bpf, MAP_CREATE, attributes.as_ptr(), size_of_val(&attributes))
    })
    .map(drop)
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
