//! Datagrams together with the address they were sent to, and what the C library says about names.
//!
//! The resolver's socket stands for every address there is. An answer that came from another address than
//! the one that was asked would be dropped by the asker's kernel.
#![expect(unsafe_code, reason = "no library offers IP_PKTINFO and IPV6_PKTINFO safely")]

use std::ffi::{CStr, c_int};
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::ptr;

/// Room for one control message of either family, aligned as its header wants it.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Which addresses a datagram came from and went to.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    peer: libc::sockaddr_storage,
    peer_length: libc::socklen_t,
    asked: Asked,
}

impl Ends {
    /// Who asked.
    pub(super) fn asker(&self) -> Option<SocketAddr> {
        let family = i32::from(self.peer.ss_family);
        let at = &raw const self.peer;
        if family == libc::AF_INET {
            // SAFETY: the kernel wrote an IPv4 address there, and the storage is large and aligned enough for it.
            let known = unsafe { &*at.cast::<libc::sockaddr_in>() };
            let address = Ipv4Addr::from(u32::from_be(known.sin_addr.s_addr));
            return Some((address, u16::from_be(known.sin_port)).into());
        }
        if family == libc::AF_INET6 {
            // SAFETY: the kernel wrote an IPv6 address there, and the storage is large and aligned enough for it.
            let known = unsafe { &*at.cast::<libc::sockaddr_in6>() };
            let address = Ipv6Addr::from(known.sin6_addr.s6_addr).to_canonical();
            return Some((address, u16::from_be(known.sin6_port)).into());
        }
        None
    }
}

#[derive(Clone, Copy)]
enum Asked {
    V4(libc::in_addr),
    V6(libc::in6_addr),
    Untold,
}

/// Makes the socket tell where datagrams were sent to, and lets answers come from there.
pub(super) fn prepare(socket: BorrowedFd<'_>) -> io::Result<()> {
    rustix::io::ioctl_fionbio(socket, true)?;
    if rustix::net::sockopt::socket_domain(socket)? == rustix::net::AddressFamily::INET {
        rustix::net::sockopt::set_ip_freebind(socket, true)?;
        return switch_on(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_PKTINFO);
    }
    // Without this the kernel wants the source to be an address of an interface, not one of a local route.
    rustix::net::sockopt::set_ipv6_freebind(socket, true)?;
    switch_on(socket.as_raw_fd(), libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
}

fn switch_on(socket: RawFd, level: c_int, option: c_int) -> io::Result<()> {
    let one: c_int = 1;
    // SAFETY: the kernel reads one `c_int`, which outlives the call.
    let done = unsafe {
        libc::setsockopt(socket, level, option, (&raw const one).cast(), size_of::<c_int>() as u32)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes a datagram; one that does not fit is an error of the kind `InvalidData`.
pub(super) fn receive(socket: impl AsFd, into: &mut [u8]) -> io::Result<(usize, Ends)> {
    let mut control = Control([0; 64]);
    // SAFETY: all zero bytes are a valid `sockaddr_storage`.
    let mut peer: libc::sockaddr_storage = unsafe { zeroed() };
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: all zero bytes are a valid `msghdr`: no name, no buffers, no control data.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_name = (&raw mut peer).cast();
    message.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: every pointer in `message` is to a local value or to `into`, with its true length, and all of
    // them outlive the call.
    let length = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    if message.msg_flags & libc::MSG_TRUNC != 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // SAFETY: the kernel has just filled `message` and `control`, to which it still points.
    let asked = unsafe { asked(&message) };
    Ok((length, Ends { peer, peer_length: message.msg_namelen, asked }))
}

/// Where a datagram was sent to.
///
/// # Safety
///
/// `message` must be as recvmsg left it, and its control buffer must still be there.
unsafe fn asked(message: &libc::msghdr) -> Asked {
    // SAFETY: the caller vouches for the control buffer; the macros stay within its length.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: the macros give null or a pointer to a whole header inside the buffer.
        let (level, kind) = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
        // SAFETY: as above; the data begins right behind the header.
        let data = unsafe { libc::CMSG_DATA(header) };
        match (level, kind) {
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                // SAFETY: the kernel puts a whole `in_pktinfo` behind a header of this type.
                let info = unsafe { ptr::read_unaligned(data.cast::<libc::in_pktinfo>()) };
                return Asked::V4(info.ipi_addr);
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                // SAFETY: the kernel puts a whole `in6_pktinfo` behind a header of this type.
                let info = unsafe { ptr::read_unaligned(data.cast::<libc::in6_pktinfo>()) };
                return Asked::V6(info.ipi6_addr);
            }
            // SAFETY: as for CMSG_FIRSTHDR.
            _ => header = unsafe { libc::CMSG_NXTHDR(message, header) },
        }
    }
    Asked::Untold
}

/// Sends an answer from the address that was asked to the one that asked.
pub(super) fn send(socket: impl AsFd, bytes: &[u8], ends: &Ends) -> io::Result<()> {
    let mut control = Control([0; 64]);
    let mut peer = ends.peer;
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: all zero bytes are a valid `msghdr`: no name, no buffers, no control data.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_name = (&raw mut peer).cast();
    message.msg_namelen = ends.peer_length;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    let unset = libc::in_addr { s_addr: 0 };
    match ends.asked {
        Asked::Untold => {}
        Asked::V4(from) => {
            let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: from, ipi_addr: unset };
            // SAFETY: `control` has room for a message of either family and outlives `message`.
            unsafe { attach(&mut message, &mut control, libc::IPPROTO_IP, libc::IP_PKTINFO, info) };
        }
        Asked::V6(from) => {
            let info = libc::in6_pktinfo { ipi6_addr: from, ipi6_ifindex: 0 };
            // SAFETY: as above.
            unsafe { attach(&mut message, &mut control, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info) };
        }
    }
    // SAFETY: every pointer in `message` is to a local value or to `bytes`, which sendmsg only reads, with its
    // true length, and all of them outlive the call.
    let sent = unsafe { libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, libc::MSG_DONTWAIT) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Writes one control message.
///
/// # Safety
///
/// `control` must have room for `T` behind a header, and must live as long as `message` is used.
unsafe fn attach<T>(message: &mut libc::msghdr, control: &mut Control, level: c_int, kind: c_int, data: T) {
    message.msg_control = ptr::from_mut(control).cast();
    // SAFETY: only arithmetic.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<T>() as u32) } as _;
    // SAFETY: the buffer is longer than a header, so that this is its beginning; it is aligned for one, and
    // the caller vouches for the room behind it.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        (*header).cmsg_level = level;
        (*header).cmsg_type = kind;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<T>() as u32) as _;
        ptr::write_unaligned(libc::CMSG_DATA(header).cast(), data);
    }
}

/// Whether a failed lookup failed because there is no such name, or none with an address. The standard library
/// keeps the words of the C library alone, not their number.
pub(crate) fn is_no_such_name(error: &io::Error) -> bool {
    let told = error.to_string();
    [libc::EAI_NONAME, libc::EAI_NODATA].into_iter().any(|number| {
        // SAFETY: any number will do; what comes back is a constant string of the C library.
        let words = unsafe { CStr::from_ptr(libc::gai_strerror(number)) };
        told.ends_with(&*words.to_string_lossy())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::ToSocketAddrs;

    #[test]
    fn knows_a_name_that_does_not_exist() {
        // Nobody has to be asked about it: no name has a label this long.
        let label = "a".repeat(64);
        let error = (label.as_str(), 0).to_socket_addrs().unwrap_err();
        assert!(is_no_such_name(&error), "{error}");
        assert!(!is_no_such_name(&io::ErrorKind::TimedOut.into()));
        assert!(!is_no_such_name(&io::Error::other("Temporary failure in name resolution")));
    }
}
