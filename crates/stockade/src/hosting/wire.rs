//! JSON lines over a unix socket, with descriptors beside them.
//!
//! Whoever is at the other end may be wrong or hostile in any way but one: the kernel says it is the same
//! user. Lines have a longest length, and so does the row of descriptors that nobody has asked for yet.

use rustix::io::{IoSlice, IoSliceMut};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The longest line: more than all arguments of a program may be.
const LONGEST: usize = 4 << 20;
/// Bytes taken at once.
const CHUNK: usize = 16 << 10;
/// The most descriptors that come with one line.
pub(super) const MOST: usize = 3;

/// One end of a connection.
#[derive(Debug)]
pub(super) struct Wire {
    stream: UnixStream,
    heard: Vec<u8>,
    /// Up to here there is no end of a line in `heard`.
    searched: usize,
    descriptors: VecDeque<OwnedFd>,
}

impl Wire {
    /// Takes a connection whose other end is the same user's; nobody else is talked to.
    pub(super) fn trusted(stream: UnixStream) -> io::Result<Self> {
        let peer = stream.peer_cred()?;
        if peer.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the other end is somebody else's"));
        }
        Ok(Self { stream, heard: Vec::new(), searched: 0, descriptors: VecDeque::new() })
    }

    /// The process at the other end; for a connection that was accepted elsewhere, who listened there.
    pub(super) fn peer(&self) -> Option<u32> {
        self.stream.peer_cred().ok()?.pid()?.try_into().ok()
    }

    /// Says something. Not to be dropped halfway: the other end would hear half of it.
    pub(super) async fn say(&self, message: &impl Serialize, with: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        if line.len() > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "this is too long to be said"));
        }
        let (mut rest, mut with) = (&line[..], with);
        while !rest.is_empty() {
            let said =
                self.stream.async_io(Interest::WRITABLE, || send(self.stream.as_fd(), rest, with)).await?;
            rest = &rest[said..];
            with = &[];
        }
        Ok(())
    }

    /// What the other end says next; nothing once it has closed. May be dropped and called again.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            let end = self.heard[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end.map(|end| end + self.searched) {
                let message = serde_json::from_slice(&self.heard[..end]);
                self.heard.drain(..=end);
                self.searched = 0;
                return Ok(Some(message?));
            }
            self.searched = self.heard.len();
            if self.heard.len() > LONGEST {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line without an end"));
            }
            let Self { stream, heard, descriptors, .. } = self;
            let take = || receive(stream.as_fd(), heard, descriptors);
            if stream.async_io(Interest::READABLE, take).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// The descriptors that have come, which must be this many. The kernel may hand them over with the line before.
    pub(super) fn take<const N: usize>(&mut self) -> io::Result<[OwnedFd; N]> {
        let come: Vec<OwnedFd> = self.descriptors.drain(..).collect();
        <[OwnedFd; N]>::try_from(come)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not the descriptors that were promised"))
    }
}

fn send(socket: BorrowedFd<'_>, bytes: &[u8], with: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !with.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(with)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, flags)?)
}

fn receive(
    socket: BorrowedFd<'_>,
    heard: &mut Vec<u8>,
    descriptors: &mut VecDeque<OwnedFd>,
) -> io::Result<usize> {
    let mut bytes = [0; CHUNK];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let message = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags)?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(come) = message {
            descriptors.extend(come);
        }
    }
    // What did not fit was closed by the kernel: there were more than anybody may send.
    if message.flags.contains(ReturnFlags::CTRUNC) || descriptors.len() > MOST {
        descriptors.clear();
        return Err(io::Error::new(io::ErrorKind::InvalidData, "too many descriptors"));
    }
    heard.extend_from_slice(&bytes[..message.bytes]);
    Ok(message.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    fn pair() -> (Wire, Wire) {
        let (one, other) = UnixStream::pair().unwrap();
        (Wire::trusted(one).unwrap(), Wire::trusted(other).unwrap())
    }

    #[tokio::test]
    async fn lines_and_descriptors_arrive_together() {
        let (one, mut other) = pair();
        let file: OwnedFd = File::open("/dev/null").unwrap().into();
        one.say(&"first", &[]).await.unwrap();
        one.say(&"second", &[file.as_fd(), file.as_fd()]).await.unwrap();
        assert_eq!(other.next::<String>().await.unwrap().unwrap(), "first");
        assert_eq!(other.next::<String>().await.unwrap().unwrap(), "second");
        assert!(other.take::<2>().is_ok());
        drop(one);
        assert_eq!(other.next::<String>().await.unwrap(), None);
    }

    #[tokio::test]
    async fn promised_descriptors_must_be_there() {
        let (one, mut other) = pair();
        let file: OwnedFd = File::open("/dev/null").unwrap().into();
        one.say(&1, &[file.as_fd()]).await.unwrap();
        other.next::<u8>().await.unwrap();
        assert!(other.take::<3>().is_err());
        // Those that came were closed; the next line has none.
        one.say(&2, &[]).await.unwrap();
        other.next::<u8>().await.unwrap();
        assert!(other.take::<0>().is_ok());
    }

    #[tokio::test]
    async fn more_descriptors_than_anybody_may_send_are_an_error() {
        let (one, mut other) = pair();
        let file: OwnedFd = File::open("/dev/null").unwrap().into();
        for _ in 0..=MOST {
            let _ = send(one.stream.as_fd(), b"1", &[file.as_fd()]);
        }
        assert_eq!(other.next::<u8>().await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(other.descriptors.is_empty());
    }

    #[tokio::test]
    async fn a_line_without_end_is_not_kept_for_ever() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let mut wire = Wire::trusted(UnixStream::from_std(theirs).unwrap()).unwrap();
        let flood = std::thread::spawn(move || {
            let mut ours = ours;
            while ours.write_all(&[b'1'; CHUNK]).is_ok() {}
        });
        assert_eq!(wire.next::<u8>().await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(wire.heard.len() < LONGEST + 2 * CHUNK);
        drop(wire);
        flood.join().unwrap();
    }

    #[tokio::test]
    async fn what_is_not_a_message_is_an_error() {
        let (one, mut other) = pair();
        one.say(&"text", &[]).await.unwrap();
        assert!(other.next::<u8>().await.is_err());
        assert!(one.say(&"x".repeat(LONGEST), &[]).await.is_err());
    }
}
