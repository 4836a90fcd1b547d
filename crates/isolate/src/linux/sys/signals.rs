//! Signals of the first process and of the commands.

use super::check;
use rustix::fd::{FromRawFd, OwnedFd};
use rustix::io::Errno;

/// Blocks every signal, so that handlers copied from the launcher never run in the first process or the
/// broker: a process inside could otherwise call them with `kill 1`.
pub(crate) fn block_all_signals() {
    // SAFETY: a sigset_t may start uninitialised because sigfillset writes all of it.
    unsafe {
        let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// Does something during which no signal reaches this thread, nor a process it makes.
pub(super) fn with_signals_blocked<T>(act: impl FnOnce() -> T) -> T {
    let mut usual = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are written before they are read: by sigfillset, and by the call that tells the old one.
    unsafe {
        let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), usual.as_mut_ptr());
    }
    let done = act();
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, usual.as_ptr(), std::ptr::null_mut()) };
    done
}

/// A descriptor that is readable when a child has ended. SIGCHLD must be blocked.
pub(crate) fn child_signals() -> Result<OwnedFd, Errno> {
    // SAFETY: the set is emptied before use and outlives the call; the descriptor is new and ours.
    unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        let fd = check(libc::c_long::from(libc::signalfd(
            -1,
            set.as_ptr(),
            libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
        )))?;
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

/// What every signal does by default, as a fresh program expects. (Rust programs ignore SIGPIPE, and what is
/// ignored stays ignored across exec.) Done once for all commands: each inherits it.
pub(crate) fn forget_handlers() {
    const LAST_SIGNAL: i32 = 64;
    // SAFETY: all-zero is a valid sigaction (SIG_DFL, no flags); numbers the C library keeps for itself
    // and those that cannot be changed are refused without harm.
    unsafe {
        let default: libc::sigaction = std::mem::zeroed();
        for signal in 1..=LAST_SIGNAL {
            libc::sigaction(signal, &raw const default, std::ptr::null_mut());
        }
    }
}

/// Lets a command hear signals, as a fresh program expects.
pub(crate) fn unblock_signals() {
    // SAFETY: a sigset_t may start uninitialised because sigemptyset writes all of it.
    unsafe {
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}
