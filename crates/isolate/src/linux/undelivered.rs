//! Datagrams that went nowhere, as the kernel tells of them.
//!
//! Every address is the sandbox's own and nobody listens there, so that each datagram to anywhere comes back
//! as "port unreachable", with its first bytes. A socket in the sandbox's network hears that. It costs
//! nothing as long as nothing is sent, and no way of sending passes it by.

use super::lookup::{NAME_PORT, name_in};
use super::sys;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::unix::AsyncFd;

/// Enough for all headers of either protocol, with options, and for the name in a lookup.
const TOLD: usize = 640;
/// Words of the kernel heard at once; a flood has to wait.
const TURN: usize = 256;

/// A datagram nobody took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Datagram {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    /// The name that was looked up, where it was a lookup.
    pub(crate) name: Option<String>,
}

/// Whether there may be more to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    Perhaps,
}

/// The sockets on which the kernel tells.
#[derive(Default)]
pub(crate) struct Undelivered {
    sockets: Mutex<Vec<Arc<AsyncFd<OwnedFd>>>>,
    /// Held by whoever hears: when the next one has it, everything heard before is handed on.
    hearing: Mutex<()>,
}

impl Undelivered {
    pub(crate) fn take_in(&self, socket: OwnedFd) {
        // Without it the records of such datagrams are missing, and nothing else.
        if let Ok(socket) = sys::watch(socket) {
            self.sockets().push(Arc::new(socket));
        }
    }

    /// Waits until there is something to hear. For one task at a time.
    pub(crate) async fn ready(&self) {
        let sockets = self.sockets().clone();
        std::future::poll_fn(|context| poll_any(&sockets, context)).await;
    }

    /// Hands on what was told so far, or a part of it where that is much.
    pub(crate) fn hear(&self, mut each: impl FnMut(Datagram)) -> Left {
        let sockets = self.sockets().clone();
        let _one_at_a_time = self.hearing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = Left::Nothing;
        for socket in sockets {
            left = if take_turn(socket.get_ref(), &mut each) == Left::Perhaps { Left::Perhaps } else { left };
        }
        left
    }

    fn sockets(&self) -> MutexGuard<'_, Vec<Arc<AsyncFd<OwnedFd>>>> {
        // Entries are added whole, whatever became of who held the lock.
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ready when one of them really has something: readiness may be old, as others hear, too.
fn poll_any(sockets: &[Arc<AsyncFd<OwnedFd>>], context: &mut Context<'_>) -> Poll<()> {
    for socket in sockets {
        while let Poll::Ready(Ok(mut ready)) = socket.poll_read_ready(context) {
            let peeked = rustix::net::recv(socket.get_ref(), &mut [0_u8; 1], RecvFlags::PEEK);
            if peeked.is_ok() {
                return Poll::Ready(());
            }
            ready.clear_ready();
        }
    }
    Poll::Pending
}

fn take_turn(socket: &OwnedFd, each: &mut impl FnMut(Datagram)) -> Left {
    let mut message = [0; TOLD];
    for _ in 0..TURN {
        match rustix::net::recv(socket, &mut message, RecvFlags::DONTWAIT) {
            Ok((length, _)) => {
                let told = message.get(..length).and_then(read);
                told.filter(is_meant_for_outside).into_iter().for_each(&mut *each);
            }
            Err(Errno::INTR) => {}
            Err(_) => return Left::Nothing,
        }
    }
    Left::Perhaps
}

/// A lookup, wherever its server is, or anything else but what is for the sandbox's own loopback. No answer of its
/// resolver that came too late: nobody inside can send from that port.
fn is_meant_for_outside(datagram: &Datagram) -> bool {
    let leaves = !datagram.to.ip().is_loopback() || datagram.to.port() == NAME_PORT;
    leaves && datagram.from.port() != NAME_PORT
}

/// The datagram in a message about it. The kernel gives IPv4 messages with their header and IPv6 ones
/// without, whose first byte is a kind and never looks like that.
fn read(message: &[u8]) -> Option<Datagram> {
    const ICMP_HEADER: usize = 8;
    const SIX_HEADER: usize = 40;
    const UDP: u8 = libc::IPPROTO_UDP as u8;
    let first = *message.first()?;
    if first >> 4 == 4 {
        let inner = message.get(header_length(first) + ICMP_HEADER..)?;
        let datagram = inner.get(header_length(*inner.first()?)..)?;
        let address = |at: usize| Some(IpAddr::from(<[u8; 4]>::try_from(inner.get(at..at + 4)?).ok()?));
        return (*inner.get(9)? == UDP).then(|| ends(address(12)?, address(16)?, datagram)).flatten();
    }
    let inner = message.get(ICMP_HEADER..)?;
    let address = |at: usize| Some(IpAddr::from(<[u8; 16]>::try_from(inner.get(at..at + 16)?).ok()?));
    let datagram = inner.get(SIX_HEADER..)?;
    (*inner.get(6)? == UDP).then(|| ends(address(8)?, address(24)?, datagram)).flatten()
}

fn header_length(first: u8) -> usize {
    usize::from(first & 0xf) * 4
}

fn ends(from: IpAddr, to: IpAddr, datagram: &[u8]) -> Option<Datagram> {
    const UDP_HEADER: usize = 8;
    let port = |at: usize| Some(u16::from_be_bytes(datagram.get(at..at + 2)?.try_into().ok()?));
    let (from, to) = (SocketAddr::new(from, port(0)?), SocketAddr::new(to, port(2)?));
    let name = datagram.get(UDP_HEADER..).filter(|_| to.port() == NAME_PORT).and_then(name_in);
    Some(Datagram { from, to, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(from: &str, to: &str) -> Datagram {
        Datagram { from: from.parse().unwrap(), to: to.parse().unwrap(), name: None }
    }

    fn four() -> Vec<u8> {
        // An outer header with options, as a datagram that has some is answered.
        let mut message = vec![0x46; 1];
        message.extend([0; 23]);
        message.extend([3, 3, 0, 0, 0, 0, 0, 0]);
        message.extend([0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0, 0, 203, 0, 113, 9, 203, 0, 113, 10]);
        message.extend([0x9c, 0x40, 0x01, 0xbb, 0, 9, 0, 0, b'x']);
        message
    }

    #[test]
    fn the_datagram_is_found_in_what_the_kernel_says() {
        let expected = told("203.0.113.9:40000", "203.0.113.10:443");
        assert_eq!(read(&four()), Some(expected));
        let mut six = vec![1, 4, 0, 0, 0, 0, 0, 0, 0x60, 0, 0, 0, 0, 9, 17, 64];
        six.extend("2001:db8::9".parse::<std::net::Ipv6Addr>().unwrap().octets());
        six.extend("2001:db8::10".parse::<std::net::Ipv6Addr>().unwrap().octets());
        six.extend([0x9c, 0x40, 0x01, 0xbb]);
        assert_eq!(read(&six), Some(told("[2001:db8::9]:40000", "[2001:db8::10]:443")));
    }

    #[test]
    fn what_is_cut_off_or_no_datagram_is_nothing() {
        let whole = four();
        for length in 0..whole.len() - 5 {
            assert_eq!(read(&whole[..length]), None, "{length}");
        }
        let mut other = whole;
        other[24 + 8 + 9] = 6;
        assert_eq!(read(&other), None);
    }

    #[test]
    fn loopback_and_late_answers_are_no_attempts() {
        for (from, to, outside) in [
            ("203.0.113.9:40000", "203.0.113.9:443", true),
            ("127.0.0.1:40000", "127.0.0.1:443", false),
            ("127.0.0.1:40000", "127.0.0.53:53", true),
            ("[::1]:40000", "[::1]:443", false),
            ("9.9.9.9:53", "9.9.9.9:40000", false),
            ("9.9.9.9:40000", "9.9.9.9:53", true),
        ] {
            assert_eq!(is_meant_for_outside(&told(from, to)), outside, "{from} {to}");
        }
    }
}
