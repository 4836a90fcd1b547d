//! Making life hard for whoever answers: limits, signals, closed memory.

use super::{call, signed};
use std::io;
use std::mem::zeroed;

/// Sets the limit of open descriptors, for good.
pub(crate) fn limit_descriptors(most: u64) -> io::Result<usize> {
    let limit = [most, most];
    call(libc::SYS_prlimit64, &[0, libc::RLIMIT_NOFILE as usize, limit.as_ptr() as usize, 0])
}

/// Whether others may look into this process.
pub(crate) fn set_dumpable(dumpable: bool) -> io::Result<usize> {
    call(libc::SYS_prctl, &[libc::PR_SET_DUMPABLE as usize, usize::from(dumpable), 0, 0, 0])
}

pub(crate) fn set_mask(mask: usize) -> io::Result<usize> {
    call(libc::SYS_umask, &[mask])
}

pub(crate) fn descriptor_flags(fd: i32) -> io::Result<usize> {
    call(libc::SYS_fcntl, &[signed(fd), libc::F_GETFD as usize])
}

pub(crate) fn status_flags(fd: i32) -> io::Result<usize> {
    call(libc::SYS_fcntl, &[signed(fd), libc::F_GETFL as usize])
}

extern "C" fn nothing(_: libc::c_int) {}

/// A signal whose handler does nothing, so often; 0 ends it. Calls are restarted after it, or fail.
pub(crate) fn signal_every(microseconds: i64, restart: bool) -> io::Result<usize> {
    // SAFETY: plain structures that live through the calls; the handler touches nothing.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = if restart { libc::SA_RESTART } else { 0 };
        if libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let timer: [i64; 4] = [0, microseconds, 0, microseconds];
    call(libc::SYS_setitimer, &[libc::ITIMER_REAL as usize, timer.as_ptr() as usize, 0])
}
