//! The sockets of a sandbox's network that somebody outside serves.

use std::os::fd::OwnedFd;

/// One socket, made inside the sandbox's network namespace: bound, and listening where it is TCP. It does not
/// block, and keeps the network it belongs to alive.
#[derive(Debug)]
pub struct DoorSocket {
    /// What comes in there.
    pub kind: DoorSocketKind,
    /// The socket.
    pub socket: OwnedFd,
}

/// What comes in at a door. Each may exist twice, for IPv4 and for IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorSocketKind {
    /// TCP connections to anywhere, led here by the kernel, which tells their original destination
    /// (`SO_ORIGINAL_DST`).
    Transparent,
    /// Name queries over UDP; the address each was sent to comes along as packet information.
    DnsUdp,
    /// Name queries over TCP to a loopback address.
    DnsTcp,
    /// The HTTP proxy.
    Http,
    /// The SOCKS proxy.
    Socks,
    /// Connections to this port of the host's loopback.
    Forward(u16),
}
