//! The raw calls that make a private internet.
#![expect(unsafe_code, reason = "namespaces, mounts and packet sockets have no safe interface in std")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Gives the calling thread, and whatever it starts from now on, a network and mounts of its own.
pub(super) fn leave_the_host() -> io::Result<()> {
    // SAFETY: no memory is involved; both namespaces belong to a thread.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS) })?;
    let root = c"/".as_ptr();
    // SAFETY: the path is a C string; the other pointers may be null for this change.
    check(unsafe {
        libc::mount(
            std::ptr::null(),
            root,
            std::ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            std::ptr::null(),
        )
    })?;
    Ok(())
}

/// Puts a file over another one.
pub(super) fn cover(with: &Path, place: &Path) -> io::Result<()> {
    let name = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let (from, to) = (name(with)?, name(place)?);
    // SAFETY: both paths are C strings; a bind needs neither a type nor data.
    check(unsafe {
        libc::mount(from.as_ptr(), to.as_ptr(), std::ptr::null(), libc::MS_BIND, std::ptr::null())
    })?;
    Ok(())
}

/// Puts an empty directory over another one.
pub(super) fn empty(place: &Path) -> io::Result<()> {
    let place = CString::new(place.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let (kind, options) = (c"tmpfs".as_ptr(), c"mode=0755".as_ptr());
    // SAFETY: every argument is a C string.
    check(unsafe { libc::mount(kind, place.as_ptr(), kind, 0, options.cast()) })?;
    Ok(())
}

/// Sends the program this signal when the thread that started it ends, however it ends.
pub(super) fn ends_with_us(command: &mut Command, signal: i32) {
    // SAFETY: one async-signal-safe call without memory.
    unsafe {
        command.pre_exec(move || check(libc::prctl(libc::PR_SET_PDEATHSIG, signal)).map(|_| ()));
    }
}

/// Hears every packet of the calling thread's network.
pub(super) fn packets() -> io::Result<OwnedFd> {
    let all = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: no memory is involved; the descriptor is ours alone.
    unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let socket = check(libc::socket(libc::AF_PACKET, kind, libc::c_int::from(all)))?;
        Ok(OwnedFd::from_raw_fd(socket))
    }
}

/// Wakes whoever waits for something to come in.
pub(super) fn hang_up(socket: &impl AsRawFd) {
    // SAFETY: no memory is involved. A socket that is not connected gives an error and wakes all the same.
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
}
