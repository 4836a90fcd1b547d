//! Netlink messages in a fixed buffer: the first process must not allocate.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, socket_with};

/// More than anything sent here.
const ROOM: usize = 2048;
/// Length, kind, flags, number, sender.
const HEADER: usize = 16;
const REQUEST: u16 = libc::NLM_F_REQUEST as u16;
const NESTED: u16 = 1 << 15;

/// Messages that are sent together.
pub(super) struct Messages {
    bytes: [u8; ROOM],
    length: usize,
    count: u32,
}

impl Messages {
    pub(super) fn new() -> Self {
        Self { bytes: [0; ROOM], length: 0, count: 0 }
    }

    /// Adds a message: its family's own header, then what `body` adds.
    pub(super) fn message(&mut self, kind: u16, flags: u16, header: &[u8], body: impl FnOnce(&mut Self)) {
        let start = self.length;
        self.count += 1;
        self.put(&[0; 4]);
        self.put(&kind.to_ne_bytes());
        self.put(&(flags | REQUEST).to_ne_bytes());
        self.put(&self.count.to_ne_bytes());
        self.put(&[0; 4]);
        self.put(header);
        body(self);
        let length = (self.length - start) as u32;
        self.patch(start, &length.to_ne_bytes());
    }

    /// Adds an attribute.
    pub(super) fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.within(kind, |messages| messages.put(value));
    }

    /// Adds an attribute made of attributes.
    pub(super) fn nest(&mut self, kind: u16, body: impl FnOnce(&mut Self)) {
        self.within(kind | NESTED, body);
    }

    fn within(&mut self, kind: u16, body: impl FnOnce(&mut Self)) {
        let start = self.length;
        self.put(&[0; 2]);
        self.put(&kind.to_ne_bytes());
        body(self);
        // The length is what was put in, the place it takes up a multiple of four.
        let length = (self.length - start) as u16;
        self.patch(start, &length.to_ne_bytes());
        let padding = self.length.next_multiple_of(4) - self.length;
        self.put(&[0; 4][..padding]);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.patch(self.length, bytes);
        self.length += bytes.len();
    }

    /// What does not fit is noticed when all is sent.
    fn patch(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Sends everything and hears what the kernel says, which it has said when the send returns: the first
    /// refusal, or that at least one message that wanted to be acknowledged was.
    pub(super) fn send(&self, socket: &OwnedFd) -> Result<(), Errno> {
        let bytes = self.bytes.get(..self.length).ok_or(Errno::NOBUFS)?;
        rustix::net::send(socket, bytes, SendFlags::empty())?;
        let mut heard = Err(Errno::IO);
        let mut answer = [0; 2 * ROOM];
        loop {
            let length = match rustix::net::recv(socket, &mut answer, RecvFlags::DONTWAIT) {
                Ok((length, _)) => length,
                Err(Errno::AGAIN) => return heard,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            };
            match verdict(answer.get(..length).unwrap_or_default()) {
                Some(0) => heard = Ok(()),
                Some(error) => return Err(Errno::from_raw_os_error(-error)),
                None => {}
            }
        }
    }
}

/// The first verdict that is not 0 in what the kernel says, or 0 if there are only such.
fn verdict(mut answer: &[u8]) -> Option<i32> {
    let mut found = None;
    while let (Some(length), Some(kind), Some(error)) =
        (word(answer, 0), half(answer, 4), word(answer, HEADER))
    {
        if i32::from(kind) == libc::NLMSG_ERROR {
            found = Some(error as i32);
            if error != 0 {
                return found;
            }
        }
        let next = (length as usize).next_multiple_of(4).max(HEADER);
        answer = answer.get(next..).unwrap_or_default();
    }
    found
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// A socket to one of the kernel's parts; to its routing where none is named.
pub(super) fn open(protocol: Option<Protocol>) -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledgement(error: i32) -> Vec<u8> {
        let mut bytes = 36_u32.to_ne_bytes().to_vec();
        bytes.extend((libc::NLMSG_ERROR as u16).to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(error.to_ne_bytes());
        bytes.extend([0; 16]);
        bytes
    }

    #[test]
    fn attributes_are_aligned_and_tell_their_length() {
        let mut messages = Messages::new();
        messages.message(24, 0, &[1; 4], |message| {
            message.nest(7, |inner| inner.attribute(1, &[9]));
        });
        let bytes = &messages.bytes[..messages.length];
        assert_eq!(word(bytes, 0), Some(32));
        assert_eq!((half(bytes, 20), half(bytes, 22)), (Some(12), Some(7 | NESTED)));
        assert_eq!((half(bytes, 24), half(bytes, 26)), (Some(5), Some(1)));
        assert_eq!(bytes[28..], [9, 0, 0, 0]);
    }

    #[test]
    fn a_refusal_among_acknowledgements_is_heard() {
        assert_eq!(verdict(&[]), None);
        assert_eq!(verdict(&acknowledgement(0)), Some(0));
        let both = [acknowledgement(0), acknowledgement(-libc::EPERM)].concat();
        assert_eq!(verdict(&both), Some(-libc::EPERM));
        assert_eq!(verdict(&both[..40]), Some(0));
    }

    #[test]
    fn what_does_not_fit_is_not_sent() {
        let mut messages = Messages::new();
        messages.message(0, 0, &[0; ROOM], |_| {});
        let socket = open(None).unwrap();
        assert_eq!(messages.send(&socket), Err(Errno::NOBUFS));
    }
}
