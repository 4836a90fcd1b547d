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
use tokio::net::UnixStream;

/// Bytes taken at once.
const CHUNK: usize = 4096;
/// A message that is longer did not come from the driver.
const LONGEST: usize = 16 * 1024 * 1024;

/// Our end.
#[derive(Debug)]
pub(super) struct Channel {
    socket: UnixStream,
    heard: Vec<u8>,
    /// The shell, once it has spoken.
    shell: Option<Pid>,
}

impl Channel {
    /// Our end and the shell's.
    pub(super) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_passcred(&ours, true)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok((Self { socket: UnixStream::from_std(ours.into())?, heard: Vec::new(), shell: None }, theirs))
    }

    /// The shell as this process numbers it, once it has spoken.
    pub(super) fn shell(&self) -> Option<Pid> {
        self.shell
    }

    /// Says something. The shell has read what was said before, so that there is room; one that has not is
    /// not waited for.
    pub(super) fn say(&self, text: &[u8]) -> io::Result<()> {
        loop {
            return match send(&self.socket, text, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Err(Errno::INTR) => continue,
                Ok(said) if said == text.len() => Ok(()),
                Ok(_) => Err(io::ErrorKind::WouldBlock.into()),
                Err(error) => Err(error.into()),
            };
        }
    }

    /// How much the shell has not read yet: only what was said at once and read to its end is taken off.
    pub(super) fn unread(&self) -> usize {
        stockade_isolate::unread(&self.socket).unwrap_or_default()
    }

    /// The next message; nothing once the shell's end is closed. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(message) = self.take() {
                return Some(message);
            }
            let Self { socket, heard, shell } = self;
            match socket.async_io(Interest::READABLE, || receive(socket, heard, shell)).await {
                Ok(0) | Err(_) => return None,
                Ok(_) if self.heard.len() > LONGEST => return None,
                Ok(_) => {}
            }
        }
    }

    /// A message that is there already.
    pub(super) fn waiting(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(message) = self.take() {
                return Some(message);
            }
            match receive(&self.socket, &mut self.heard, &mut self.shell) {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let end = self.heard.iter().position(|byte| *byte == 0)?;
        let message = self.heard[..end].to_vec();
        self.heard.drain(..=end);
        Some(message)
    }
}

/// Takes what is there. The kernel never joins what different processes wrote.
fn receive(socket: &UnixStream, heard: &mut Vec<u8>, shell: &mut Option<Pid>) -> io::Result<usize> {
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
