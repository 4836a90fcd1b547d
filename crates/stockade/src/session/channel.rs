//! The socket between a session and its shell.
//!
//! The kernel says with every message which process wrote it. What did not come from the shell itself is
//! dropped: processes that a command forked without exec, which hold a copy of the shell's end, cannot say
//! that a command is over. Programs do not get the end at all, and a socket cannot be opened through /proc.

use rustix::io::{Errno, IoSliceMut};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags, SocketType,
    recvmsg, send, socketpair, sockopt,
};
use rustix::process::Pid;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Bytes taken at once.
const CHUNK: usize = 32 * 1024;
/// A message that is longer did not come from the driver.
const LONGEST: usize = 2 * 1024 * 1024;
/// The same for the end of a command, which holds one path.
const LONGEST_END: usize = 64 * 1024;

/// Our end.
#[derive(Debug)]
pub(super) struct Channel {
    socket: AsyncFd<OwnedFd>,
    heard: Vec<u8>,
    /// Where in it the next message begins.
    start: usize,
    /// Up to where no end of that message was found.
    scanned: usize,
    /// The shell, once it has spoken.
    shell: Option<Pid>,
}

impl Channel {
    /// Our end and the shell's.
    pub(super) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_passcred(&ours, true)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let socket = stockade_isolate::watch_reading(ours)?;
        let channel = Self { socket, heard: Vec::new(), start: 0, scanned: 0, shell: None };
        Ok((channel, theirs))
    }

    /// The shell as this process numbers it, once it has spoken.
    pub(super) fn shell(&self) -> Option<Pid> {
        self.shell
    }

    /// Says something. The shell has read what was said before, so that there is room; one that has not is
    /// not waited for.
    pub(super) fn say(&self, text: &[u8]) -> io::Result<()> {
        loop {
            return match send(self.socket.get_ref(), text, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Err(Errno::INTR) => continue,
                Ok(said) if said == text.len() => Ok(()),
                Ok(_) => Err(io::ErrorKind::WouldBlock.into()),
                Err(error) => Err(error.into()),
            };
        }
    }

    /// Whether nobody is left who could read an order.
    pub(super) fn is_closed(&self) -> bool {
        stockade_isolate::hung_up(self.socket.get_ref())
    }

    /// Whether the shell has not read all that was said.
    pub(super) fn has_unread(&self) -> bool {
        stockade_isolate::unread(self.socket.get_ref()).is_ok_and(|unread| unread > 0)
    }

    /// Whether the shell says more than a message may hold.
    pub(super) fn is_flooded(&self) -> bool {
        let is_end = matches!(self.heard.get(self.start), Some(b'E' | b'F'));
        let longest = if is_end { LONGEST_END } else { LONGEST };
        self.heard.len() - self.start > longest
    }

    /// The next message; nothing once the shell's end is closed or it says too much. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(message) = self.take() {
                return Some(message);
            }
            if self.is_flooded() {
                return None;
            }
            let Self { socket, heard, shell, .. } = self;
            match socket.async_io(Interest::READABLE, |socket| receive(socket, heard, shell)).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// A message that is there already.
    pub(super) fn waiting(&mut self) -> Option<Vec<u8>> {
        let mut seen = 0;
        loop {
            if let Some(message) = self.take() {
                return Some(message);
            }
            // Others may write without an end.
            if seen > LONGEST {
                return None;
            }
            match receive(self.socket.get_ref(), &mut self.heard, &mut self.shell) {
                Ok(0) | Err(_) => return None,
                Ok(count) => seen += count,
            }
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let Some(length) = self.heard[self.scanned..].iter().position(|byte| *byte == 0) else {
            self.heard.drain(..self.start);
            (self.start, self.scanned) = (0, self.heard.len());
            return None;
        };
        let end = self.scanned + length;
        let message = self.heard[self.start..end].to_vec();
        (self.start, self.scanned) = (end + 1, end + 1);
        Some(message)
    }
}

/// Takes what is there. The kernel never joins what different processes wrote.
fn receive(socket: &OwnedFd, heard: &mut Vec<u8>, shell: &mut Option<Pid>) -> io::Result<usize> {
    let mut bytes = [0; CHUNK];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let message = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags)?;
    let writer = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(who) => Some(who.pid),
        _ => None,
    });
    // Nobody but the shell runs before it speaks for the first time.
    if shell.is_none() {
        *shell = writer;
    }
    if writer.is_some() && writer == *shell {
        heard.extend_from_slice(&bytes[..message.bytes]);
    }
    Ok(message.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_known_what_was_read() {
        let (channel, theirs) = Channel::pair().unwrap();
        assert!(!channel.has_unread());
        channel.say(b"order").unwrap();
        assert!(channel.has_unread());
        rustix::io::read(&theirs, &mut [0; 5]).unwrap();
        assert!(!channel.has_unread());
    }

    #[tokio::test]
    async fn messages_come_one_by_one_and_have_an_end() {
        let (mut channel, theirs) = Channel::pair().unwrap();
        rustix::io::write(&theirs, b"one\0\0two\0thr").unwrap();
        for expected in ["one", "", "two"] {
            assert_eq!(channel.next().await.unwrap(), expected.as_bytes());
        }
        assert_eq!(channel.waiting(), None);
        rustix::io::write(&theirs, b"ee\0E").unwrap();
        assert_eq!(channel.next().await.unwrap(), b"three");
        rustix::io::write(&theirs, &[b'a'; LONGEST_END]).unwrap();
        assert_eq!(channel.next().await, None);
        assert!(channel.is_flooded());
    }
}
