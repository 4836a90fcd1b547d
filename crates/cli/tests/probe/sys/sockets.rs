//! Socket calls with numbers of the attacker's choice.

use super::{call, signed};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Where a unix socket is.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    Path,
    Abstract,
}

pub(crate) fn socket(domain: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    let fd = call(libc::SYS_socket, &[signed(domain), signed(kind), signed(protocol)])?;
    let fd = RawFd::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: fresh from the kernel, known to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The same socket, asked for with garbage in the upper halves of the registers.
pub(crate) fn socket_with_high_bits(domain: i32, kind: i32, protocol: i32) -> io::Result<usize> {
    let high = |value: i32| signed(value) & 0xffff_ffff | 0x5_0000_0000;
    call(libc::SYS_socket, &[high(domain), high(kind), high(protocol)])
}

pub(crate) fn pair(domain: i32, kind: i32) -> io::Result<[OwnedFd; 2]> {
    let mut fds: [RawFd; 2] = [0; 2];
    call(libc::SYS_socketpair, &[signed(domain), signed(kind), 0, fds.as_mut_ptr() as usize])?;
    // SAFETY: fresh from the kernel, known to nobody else.
    Ok(fds.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }))
}

fn address(name: &[u8], place: Place) -> io::Result<(libc::sockaddr_un, usize)> {
    // SAFETY: all-zero bytes are a valid address.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let start = match place {
        Place::Path => 0,
        Place::Abstract => 1,
    };
    if name.len() + start >= address.sun_path.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    for (to, from) in address.sun_path[start..].iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    let end = match place {
        Place::Path => 1,
        Place::Abstract => 0,
    };
    Ok((address, size_of::<libc::sa_family_t>() + start + name.len() + end))
}

pub(crate) fn connect_unix(socket: &OwnedFd, name: &[u8], place: Place) -> io::Result<usize> {
    let (address, length) = address(name, place)?;
    call(libc::SYS_connect, &[signed(socket.as_raw_fd()), (&raw const address) as usize, length])
}

pub(crate) fn send_to_unix(socket: &OwnedFd, name: &[u8], place: Place) -> io::Result<usize> {
    let (address, length) = address(name, place)?;
    let text = b"ATTACK";
    call(
        libc::SYS_sendto,
        &[
            signed(socket.as_raw_fd()),
            text.as_ptr() as usize,
            text.len(),
            libc::MSG_NOSIGNAL as usize,
            (&raw const address) as usize,
            length,
        ],
    )
}

pub(crate) fn bind_unix(socket: &OwnedFd, name: &[u8], place: Place) -> io::Result<usize> {
    let (address, length) = address(name, place)?;
    call(libc::SYS_bind, &[signed(socket.as_raw_fd()), (&raw const address) as usize, length])
}

/// Connects with an address in memory that somebody else may be changing.
pub(crate) fn connect_at(socket: RawFd, address: usize, length: usize) -> io::Result<usize> {
    call(libc::SYS_connect, &[signed(socket), address, length])
}
