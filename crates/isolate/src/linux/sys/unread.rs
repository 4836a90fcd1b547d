//! What the other end of a socket has not read yet.

use super::check;
use rustix::fd::{AsFd, AsRawFd};
use std::io;

/// Bytes of memory that hold what was sent and not read. Nothing is left when it is 0.
pub fn unread(socket: &impl AsFd) -> io::Result<usize> {
    let mut count: libc::c_int = 0;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: SIOCOUTQ (the number TIOCOUTQ has for sockets) writes one int, which outlives the call.
    check(unsafe { libc::ioctl(socket, libc::TIOCOUTQ, &raw mut count) }.into())?;
    Ok(usize::try_from(count).unwrap_or_default())
}
