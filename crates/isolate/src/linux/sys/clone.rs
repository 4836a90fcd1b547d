//! Making processes.

use super::check;
use rustix::fd::{FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::ffi::{c_int, c_void};

/// Who returns from [`clone_init`].
pub(crate) enum Side {
    /// The launcher: the child's process id as seen here, and a descriptor that means this very process.
    Launcher { pid: u32, pidfd: OwnedFd },
    /// The first process of the new namespaces.
    Init,
}

/// Clones this process into new namespaces.
///
/// Plain `clone` instead of `clone3`, because containers' own filters often refuse the latter. The exit
/// signal is none, so that a host program's `wait` loops and SIGCHLD handlers never see our child.
///
/// The child is a copy of one thread of a program that may have many: until it exits it may only read
/// memory prepared before and make system calls.
pub(crate) fn clone_init(namespaces: c_int) -> Result<Side, Errno> {
    Ok(match clone_process(namespaces)? {
        (0, _) => Side::Init,
        // SAFETY: the kernel just gave us this descriptor and nobody else knows it.
        (pid, pidfd) => Side::Launcher { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } },
    })
}

/// The same, as the kernel tells it: 0 in the new process, its id and a descriptor of it in the other.
pub(super) fn clone_process(flags: c_int) -> Result<(u32, c_int), Errno> {
    let mut pidfd: c_int = -1;
    // SAFETY: no CLONE_VM and a null stack make this a fork: the child goes on with a copy of this stack.
    // `pidfd` outlives the call and is written by the kernel in the parent before it returns.
    let pid = check(unsafe {
        libc::syscall(
            libc::SYS_clone,
            libc::c_long::from(flags | libc::CLONE_PIDFD),
            std::ptr::null_mut::<c_void>(),
            &raw mut pidfd,
            0,
            0,
        )
    })?;
    Ok((pid as u32, pidfd))
}

/// A body and what it works on, handed to a process that shares our memory.
struct Call<'a, T> {
    state: &'a mut T,
    body: fn(&mut T) -> !,
}

extern "C" fn enter<T>(call: *mut c_void) -> c_int {
    // SAFETY: `call` is a `Call` whose owner keeps it alive until this process no longer shares its memory.
    let call = unsafe { &mut *call.cast::<Call<'_, T>>() };
    (call.body)(call.state)
}

/// SAFETY of the caller: `call` and `stack` outlive the new process, or its sharing of our memory.
unsafe fn share<T>(stack: &mut [u8], call: &mut Call<'_, T>, flags: c_int) -> Result<u32, Errno> {
    let top = stack.as_mut_ptr_range().end.map_addr(|address| address & !15);
    // SAFETY: the stack is ours alone and aligned by masking; the rest is promised by the caller.
    let pid = unsafe {
        libc::clone(enter::<T>, top.cast(), flags | libc::CLONE_VM | libc::SIGCHLD, (&raw mut *call).cast())
    };
    check(pid.into()).map(|pid| pid as u32)
}

/// Runs `body` in a new process that shares our memory until it execs or exits; we wait meanwhile.
///
/// What vfork does, without its returning twice: `body` has a stack of its own. Copying the page tables
/// of a large launcher for every command would cost more than the rest of the start.
pub(crate) fn start_sharing_memory<T>(
    stack: &mut [u8],
    state: &mut T,
    body: fn(&mut T) -> !,
) -> Result<u32, Errno> {
    // SAFETY: CLONE_VFORK suspends us, and keeps this frame alive, until the child stops sharing.
    unsafe { share(stack, &mut Call { state, body }, libc::CLONE_VFORK) }
}
