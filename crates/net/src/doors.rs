//! The sockets of a sandbox's network that the gateway serves.

use std::os::fd::OwnedFd;

/// One listening socket, made inside the sandbox's network namespace.
#[derive(Debug)]
pub struct Door {
    /// What comes in there.
    pub kind: DoorKind,
    /// The socket: bound, and listening where it is TCP.
    pub socket: OwnedFd,
}

/// What comes in at a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorKind {
    /// TCP connections to anywhere, led here by the kernel; their original destination can be asked for.
    Transparent,
    /// Name queries over UDP.
    DnsUdp,
    /// Name queries over TCP.
    DnsTcp,
    /// The HTTP proxy.
    Http,
    /// The SOCKS proxy.
    Socks,
    /// Connections to this port of the host's loopback.
    Forward(u16),
}

/// Makes TCP sockets inside the sandbox's network namespace, for published ports.
pub trait Inward: Send + Sync {
    /// A fresh, unconnected, non-blocking IPv4 stream socket that belongs inside.
    fn socket(&self) -> crate::BoxFuture<'_, std::io::Result<OwnedFd>>;
}
