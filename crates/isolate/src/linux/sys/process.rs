//! Ending, reaping, and giving up privileges.

use super::check;
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;

/// A child that was reaped.
pub(crate) struct Reaped {
    pub(crate) pid: u32,
    /// As `wait` gives it.
    pub(crate) status: i32,
    pub(crate) user_us: u64,
    pub(crate) system_us: u64,
    pub(crate) max_rss_kib: u64,
}

/// Reaps one child that has ended, if there is one.
pub(crate) fn reap() -> Option<Reaped> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both outlive the call, and all-zero is a valid rusage should the kernel write nothing.
    let (pid, usage) = unsafe {
        let pid = libc::wait4(-1, &raw mut status, libc::WNOHANG | libc::__WALL, usage.as_mut_ptr());
        (pid, usage.assume_init())
    };
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    (pid > 0).then(|| Reaped {
        pid: pid as u32,
        status,
        user_us: micros(usage.ru_utime),
        system_us: micros(usage.ru_stime),
        max_rss_kib: usage.ru_maxrss as u64,
    })
}

/// Reaps the process a descriptor means. Blocks until it has ended.
pub(crate) fn reap_pidfd(pidfd: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    loop {
        // SAFETY: `info` outlives the call. __WALL because our child has no exit signal.
        let result = check(libc::c_long::from(unsafe {
            libc::waitid(
                libc::P_PIDFD,
                pidfd.as_raw_fd() as libc::id_t,
                info.as_mut_ptr(),
                libc::WEXITED | libc::__WALL,
            )
        }));
        match result {
            Err(Errno::INTR) => {}
            other => return other.map(drop),
        }
    }
}

/// Whether the process a descriptor means ended by itself with status 0. Blocks until it has ended, and
/// leaves it to be reaped.
pub(crate) fn ended_well(pidfd: BorrowedFd<'_>) -> bool {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `info` outlives the call; all-zero is valid should the kernel write nothing, and si_status may
    // be read after a wait that succeeded.
    unsafe {
        let waited = libc::waitid(
            libc::P_PIDFD,
            pidfd.as_raw_fd() as libc::id_t,
            info.as_mut_ptr(),
            libc::WEXITED | libc::WNOWAIT | libc::__WALL,
        );
        let info = info.assume_init();
        waited == 0 && info.si_code == libc::CLD_EXITED && info.si_status() == 0
    }
}

/// Waits for the process a descriptor means, reaps it, and tells the status it ended with by itself.
pub(crate) fn exit_status(pidfd: BorrowedFd<'_>) -> Option<i32> {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    loop {
        // SAFETY: `info` outlives the call; all-zero is valid should the kernel write nothing, and si_status
        // may be read after a wait that succeeded.
        let waited = unsafe {
            check(libc::c_long::from(libc::waitid(
                libc::P_PIDFD,
                pidfd.as_raw_fd() as libc::id_t,
                info.as_mut_ptr(),
                libc::WEXITED | libc::__WALL,
            )))
            .map(|_| info.assume_init())
        };
        match waited {
            Err(Errno::INTR) => {}
            // SAFETY: as above.
            Ok(info) => return (info.si_code == libc::CLD_EXITED).then(|| unsafe { info.si_status() }),
            Err(_) => return None,
        }
    }
}

/// Ends this process at once: no destructors, no exit handlers of the program we are a copy of.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` never returns and touches no memory.
    unsafe { libc::_exit(status) }
}

/// Gives up every capability for ever: bounding set empty, nothing permitted, no way for uid 0 or a
/// set-user-id program to gain any.
pub(crate) fn shed_privileges() -> Result<(), Errno> {
    const LAST_POSSIBLE_CAPABILITY: libc::c_ulong = 63;
    const ALL_SECURE_BITS_LOCKED: libc::c_ulong = 0b1110_1111;
    // SAFETY: prctl with these options reads numbers only; capset reads two structures that outlive it.
    unsafe {
        for capability in 0..=LAST_POSSIBLE_CAPABILITY {
            if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 {
                break; // EINVAL: the kernel knows no further ones. Anything else fails at capset below.
            }
        }
        check(libc::prctl(libc::PR_SET_SECUREBITS, ALL_SECURE_BITS_LOCKED, 0, 0, 0).into())?;
        check(libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0).into())?;
        let header = [0x2008_0522_u32, 0]; // _LINUX_CAPABILITY_VERSION_3, this thread
        let none = [0_u32; 6];
        check(libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()))?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        check(libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0).into()).map(drop)
    }
}

/// Closes every descriptor of this process but these, which it now owns.
pub(crate) fn close_all_but<const N: usize>(kept: [BorrowedFd<'_>; N]) -> Result<[OwnedFd; N], Errno> {
    let close = |first: i32, last: i32| -> Result<(), Errno> {
        if first > last {
            return Ok(());
        }
        // SAFETY: this is a fresh copy of the launcher: nothing that owned those descriptors runs here.
        check(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) }).map(drop)
    };
    let mut numbers = kept.map(|kept| kept.as_raw_fd());
    numbers.sort_unstable();
    let mut first = 0;
    for number in numbers {
        close(first, number - 1)?;
        first = number + 1;
    }
    close(first, i32::MAX)?;
    // SAFETY: open, and their other owners live in another process.
    Ok(kept.map(|kept| unsafe { OwnedFd::from_raw_fd(kept.as_raw_fd()) }))
}

/// Opens a file as the broker's filter lets only the first process do it.
pub(crate) fn open_past_broker(
    path: &std::ffi::CStr,
    flags: rustix::fs::OFlags,
    cookie: u64,
) -> Result<OwnedFd, Errno> {
    // SAFETY: the path outlives the call; the kernel looks at four arguments, the filter at the last. The
    // descriptor is new.
    unsafe {
        let opened = check(libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags.bits(),
            0,
            0,
            cookie,
        ))?;
        Ok(OwnedFd::from_raw_fd(opened as i32))
    }
}

/// Changes the working directory as the broker's filter lets only the first process do it.
pub(crate) fn chdir_past_broker(path: &std::ffi::CStr, cookie: u64) -> Result<(), Errno> {
    // SAFETY: the path outlives the call; the kernel looks at one argument, the filter at the last.
    check(unsafe { libc::syscall(libc::SYS_chdir, path.as_ptr(), 0, 0, 0, 0, cookie) }).map(drop)
}

/// Marks every descriptor from `first` on to be closed by exec.
pub(crate) fn close_on_exec_from(first: u32) -> Result<(), Errno> {
    // SAFETY: only a flag of our own descriptors changes.
    check(unsafe {
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    })
    .map(drop)
}

/// Makes `from` known as number `to`, open across exec.
pub(crate) fn place_descriptor(from: BorrowedFd<'_>, to: i32) -> Result<(), Errno> {
    // SAFETY: the caller is about to exec and owns nothing at number `to`.
    check(unsafe { libc::dup2(from.as_raw_fd(), to) }.into()).map(drop)
}

/// Kills every process this one may signal, itself excepted: for the first process, everybody inside.
pub(crate) fn kill_everyone() {
    // SAFETY: numbers only. Failure means there was nobody.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// A number nobody inside can guess.
pub(crate) fn random_number() -> Result<u64, Errno> {
    let mut bytes = [0_u8; 8];
    // Not the C library's: the standard library names it weakly, and a static program that is optimised as a whole
    // may then go without it.
    let length = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if length == bytes.len() { Ok(u64::from_ne_bytes(bytes)) } else { Err(Errno::IO) }
}
