//! The other end of a socket: what it has not read yet, and whether it is there.

use super::check;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
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

/// Whether nobody holds the other end any more. The kernel knows before any task of ours has heard.
pub fn hung_up(socket: &impl AsFd) -> bool {
    let mut asked = [PollFd::new(socket, PollFlags::empty())];
    let now = Timespec::default();
    rustix::io::retry_on_intr(|| poll(&mut asked, Some(&now))).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn an_end_that_is_gone_is_noticed_at_once() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        assert!(!hung_up(&ours));
        drop(theirs);
        assert!(hung_up(&ours));
    }
}
