//! Building the sandbox's own network.

use super::netlink::{self, Messages};
use super::nft::{self, Family};
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

/// Which internet protocols are led to the gateway. What is not has no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Both,
    /// The machine has no IPv6, or keeps it from new networks.
    V4,
}

/// Makes every address an address of our own and leads every TCP connection to `port`. Nothing leaves this
/// network; whoever listens on that port gets what would have.
pub(crate) fn lead_everything_to(port: u16) -> Result<Reach, Errno> {
    let reach = redirect(port)?;
    let routes = netlink::open(None)?;
    own_all_addresses(Family::V4).send(&routes)?;
    let six = reach == Reach::Both && own_all_addresses(Family::V6).send(&routes).is_ok();
    Ok(if six { Reach::Both } else { Reach::V4 })
}

/// Before the routes: no connection goes anywhere until it is led.
fn redirect(port: u16) -> Result<Reach, Errno> {
    let six = socket_with(AddressFamily::INET6, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
    if six.is_ok() && nft::redirect_connections(&[Family::V4, Family::V6], port).is_ok() {
        return Ok(Reach::Both);
    }
    nft::redirect_connections(&[Family::V4], port).map(|()| Reach::V4)
}

/// `local default dev lo table local`
fn own_all_addresses(family: Family) -> Messages {
    const LOOPBACK: u32 = 1;
    let (number, scope) = match family {
        Family::V4 => (libc::AF_INET as u8, libc::RT_SCOPE_HOST),
        Family::V6 => (libc::AF_INET6 as u8, libc::RT_SCOPE_UNIVERSE),
    };
    let mut header = [0; 12];
    header[0] = number;
    header[4..8].copy_from_slice(&[libc::RT_TABLE_LOCAL, libc::RTPROT_BOOT, scope, libc::RTN_LOCAL]);
    let flags = (libc::NLM_F_CREATE | libc::NLM_F_EXCL | libc::NLM_F_ACK) as u16;
    let mut messages = Messages::new();
    messages.message(libc::RTM_NEWROUTE, flags, &header, |route| {
        route.attribute(libc::RTA_OIF, &LOOPBACK.to_ne_bytes());
    });
    messages
}
