//! The few raw calls the tests themselves need.
#![expect(unsafe_code, reason = "descriptors, signals and terminals have no safe interface in std")]

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What happens to descriptors between fork and exec.
#[derive(Default)]
pub(crate) struct Descriptors {
    /// Ours, and the number the program finds it under.
    pub(crate) given: Vec<(OwnedFd, RawFd)>,
    /// Closed.
    pub(crate) closed: Vec<RawFd>,
    /// Ours becomes the controlling terminal of a new session.
    pub(crate) terminal: Option<OwnedFd>,
}

/// Numbers nobody uses.
const LIFTED: RawFd = 500;

/// Arranges descriptors of the program a command will start.
pub(crate) fn arrange(command: &mut Command, descriptors: Descriptors) {
    // SAFETY: only async-signal-safe calls on memory that was made before the fork.
    unsafe {
        command.pre_exec(move || {
            // In two steps, so that no target overwrites a source.
            for (ours, number) in &descriptors.given {
                check(libc::dup3(ours.as_raw_fd(), LIFTED + number, libc::O_CLOEXEC))?;
            }
            for (_, number) in &descriptors.given {
                check(libc::dup2(LIFTED + number, *number))?;
            }
            if let Some(terminal) = &descriptors.terminal {
                check(libc::setsid())?;
                check(libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0))?;
            }
            for number in &descriptors.closed {
                libc::close(*number);
            }
            Ok(())
        });
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Signals a process.
pub(crate) fn kill(pid: u32, signal: i32) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: no memory is involved.
    check(unsafe { libc::kill(pid, signal) }).map(|_| ())
}

/// Runs at the end of this process.
pub(crate) fn at_exit(act: extern "C" fn()) {
    // SAFETY: the function stays as long as the program.
    unsafe { libc::atexit(act) };
}

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::geteuid() == 0 }
}

/// User and group of this process.
pub(crate) fn own_ids() -> (u32, u32) {
    // SAFETY: no memory is involved.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Both ends of a fresh terminal.
pub(crate) struct Pty {
    /// Kept open: without it the terminal hangs up.
    pub(crate) outer: File,
    pub(crate) inner: File,
    name: CString,
}

impl Pty {
    pub(crate) fn open() -> io::Result<Self> {
        // SAFETY: posix_openpt hands out a descriptor that is ours alone; the name buffer is big enough.
        unsafe {
            let outer = check(libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC))?;
            let outer = File::from_raw_fd(outer);
            check(libc::grantpt(outer.as_raw_fd()))?;
            check(libc::unlockpt(outer.as_raw_fd()))?;
            let mut name = [0_u8; 128];
            check(libc::ptsname_r(outer.as_raw_fd(), name.as_mut_ptr().cast(), name.len()))?;
            let name = CStr::from_bytes_until_nul(&name).map_err(io::Error::other)?.to_owned();
            let inner = check(libc::open(name.as_ptr(), libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC))?;
            Ok(Self { outer, inner: File::from_raw_fd(inner), name })
        }
    }

    /// Where the inner end is found.
    pub(crate) fn name(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(self.name.as_bytes()))
    }

    /// How many bytes a program on the inner end could read now, whole line or not.
    pub(crate) fn waiting(&self) -> io::Result<i32> {
        let mut count = 0;
        // SAFETY: the structures are plain and live through the calls.
        unsafe {
            let mut mode: libc::termios = std::mem::zeroed();
            check(libc::tcgetattr(self.inner.as_raw_fd(), &raw mut mode))?;
            mode.c_lflag &= !libc::ICANON;
            check(libc::tcsetattr(self.inner.as_raw_fd(), libc::TCSANOW, &raw const mode))?;
            check(libc::ioctl(self.inner.as_raw_fd(), libc::FIONREAD, &raw mut count))?;
        }
        Ok(count)
    }
}

/// A descriptor that names a file without opening it.
pub(crate) fn open_path(path: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the path is a C string; the descriptor is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC))?)) }
}

/// Two names change places in one step.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    let name = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let (one, other) = (name(one)?, name(other)?);
    // SAFETY: both names are C strings that live through the call.
    let result = unsafe {
        libc::renameat2(libc::AT_FDCWD, one.as_ptr(), libc::AT_FDCWD, other.as_ptr(), libc::RENAME_EXCHANGE)
    };
    check(result).map(|_| ())
}
