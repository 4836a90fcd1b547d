//! Listening sockets in the sandbox's own network.

use super::check;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, listen, socket_with, sockopt};
use std::net::SocketAddr;

/// Connections that may wait to be accepted; the kernel cuts it to its own limit.
const BACKLOG: i32 = 4096;
/// The kinds of messages that say so, of both protocols.
const ICMP_UNREACHABLE: u32 = 3;
const ICMPV6_UNREACHABLE: u32 = 1;

/// What travels over a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    Streams,
    Datagrams,
    /// The kernel's words that a datagram could not be delivered.
    Refusals,
}

/// A socket that takes what comes to this address.
pub(crate) fn listen_at(address: SocketAddr, carries: Carries) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let kind = match carries {
        Carries::Streams => SocketType::STREAM,
        Carries::Datagrams => SocketType::DGRAM,
        Carries::Refusals => return hear_refusals(family),
    };
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    if carries == Carries::Datagrams {
        tell_destinations(&socket, address)?;
    }
    bind(&socket, &address)?;
    if carries == Carries::Streams {
        listen(&socket, BACKLOG)?;
    }
    Ok(socket)
}

/// A stream socket of this network that is not connected yet.
pub(crate) fn stream_socket() -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}

/// Every datagram says where it was sent to, and answers may come from there.
fn tell_destinations(socket: &OwnedFd, address: SocketAddr) -> Result<(), Errno> {
    if address.is_ipv4() {
        return switch_on(socket, libc::IPPROTO_IP, libc::IP_PKTINFO);
    }
    sockopt::set_ipv6_freebind(socket, true)?;
    switch_on(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
}

/// A socket that hears of every datagram for which nobody was there, and of nothing else.
fn hear_refusals(family: AddressFamily) -> Result<OwnedFd, Errno> {
    const FILTER: i32 = 1;
    let four = family == AddressFamily::INET;
    let protocol = if four { ipproto::ICMP } else { ipproto::ICMPV6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::RAW, flags, Some(protocol))?;
    // A bit that is set keeps messages of that kind away.
    if four {
        let others: u32 = !(1 << ICMP_UNREACHABLE);
        set(&socket, libc::SOL_RAW, FILTER, &others)?;
    } else {
        let mut others = [u32::MAX; 8];
        others[0] = !(1 << ICMPV6_UNREACHABLE);
        set(&socket, libc::SOL_ICMPV6, FILTER, &others)?;
    }
    Ok(socket)
}

fn switch_on(socket: &OwnedFd, level: i32, option: i32) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    set(socket, level, option, &on)
}

/// Sets an option whose value is made of whole numbers.
fn set<T: Copy>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> Result<(), Errno> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of a value that outlives the call.
    check(
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const *value).cast(), length) }
            .into(),
    )
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, UdpSocket};

    /// Where the next datagram was sent to.
    fn destination(socket: &OwnedFd) -> Option<IpAddr> {
        let (mut data, mut control) = ([0_u8; 16], [0_u64; 16]);
        let mut piece = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
        // SAFETY: all-zero is a valid `msghdr`.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: everything the message points at outlives the call; what the kernel wrote is of the kind
        // its header says.
        unsafe {
            assert_eq!(libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0), 1);
            let header = libc::CMSG_FIRSTHDR(&raw const message).as_ref()?;
            let data = libc::CMSG_DATA(header);
            Some(match (header.cmsg_level, header.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let address = data.cast::<libc::in_pktinfo>().read_unaligned().ipi_addr;
                    IpAddr::from(address.s_addr.to_ne_bytes())
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    IpAddr::from(data.cast::<libc::in6_pktinfo>().read_unaligned().ipi6_addr.s6_addr)
                }
                other => panic!("{other:?}"),
            })
        }
    }

    #[test]
    fn a_datagram_tells_where_it_was_sent() {
        for (everywhere, to) in [("0.0.0.0:0", "127.0.0.53"), ("[::]:0", "::1")] {
            let door = listen_at(everywhere.parse().unwrap(), Carries::Datagrams).unwrap();
            let port = UdpSocket::from(door.try_clone().unwrap()).local_addr().unwrap().port();
            let to: IpAddr = to.parse().unwrap();
            let from = UdpSocket::bind(SocketAddr::new(to, 0)).unwrap();
            from.send_to(b"x", SocketAddr::new(to, port)).unwrap();
            assert_eq!(destination(&door), Some(to));
        }
    }
}
