//! Bringing the sandbox's own loopback up.

use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// Sets `lo` up in the current network namespace.
pub(crate) fn raise_loopback() -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all-zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads one `ifreq`.
    unsafe { ioctl(&socket, Setter::<{ libc::SIOCSIFFLAGS as Opcode }, libc::ifreq>::new(request)) }
}
