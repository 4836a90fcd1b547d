//! Whether an address is one of this machine's.

use crate::sys::interface_addresses;
use rustix::io::Errno;
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use stockade_policy::AddressOwner;

/// How long the list of interfaces is believed.
const FRESH: Duration = Duration::from_secs(1);

/// Knows which addresses are this machine's.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    known: Mutex<Option<(Instant, HashSet<IpAddr>)>>,
}

impl Owners {
    /// Whose address it is. An error means that nobody can tell, and that the address must not be dialled.
    pub(crate) fn owner(&self, address: IpAddr) -> io::Result<AddressOwner> {
        let address = address.to_canonical();
        Ok(match self.on_interface(address)? || leads_home(address)? {
            true => AddressOwner::ThisMachine,
            false => AddressOwner::Elsewhere,
        })
    }

    fn on_interface(&self, address: IpAddr) -> io::Result<bool> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let addresses = match known.take() {
            Some((read, addresses)) if now.duration_since(read) < FRESH => (read, addresses),
            _ => (now, interface_addresses()?),
        };
        Ok(known.insert(addresses).1.contains(&address))
    }
}

/// Whether the kernel would talk to this address from the address itself.
///
/// Routes can make addresses local that no interface has. Connecting a UDP socket sends nothing.
fn leads_home(address: IpAddr) -> io::Result<bool> {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let local = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    is_home(address, local)
}

/// What it means that this is the local end of a socket toward an address, or that there is none.
fn is_home(address: IpAddr, local: io::Result<SocketAddr>) -> io::Result<bool> {
    match local {
        Ok(local) => Ok(local.ip().to_canonical() == address),
        // Without a way there is no connection either.
        Err(error) if has_no_way(&error) => Ok(false),
        // A lack of descriptors, of memory: nothing was found out.
        Err(error) => Err(error),
    }
}

/// Whether the kernel says that nothing can be sent there: no route, one that forbids, no such family.
fn has_no_way(error: &io::Error) -> bool {
    let ways = [
        Errno::NETUNREACH,
        Errno::HOSTUNREACH,
        Errno::NETDOWN,
        Errno::ADDRNOTAVAIL,
        Errno::AFNOSUPPORT,
        Errno::ACCESS,
        Errno::PERM,
        Errno::INVAL,
    ];
    Errno::from_io_error(error).is_some_and(|errno| ways.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_known() {
        let owners = Owners::default();
        assert_eq!(owners.owner(Ipv4Addr::LOCALHOST.into()).unwrap(), AddressOwner::ThisMachine);
        assert_eq!(owners.owner("::ffff:127.0.0.1".parse().unwrap()).unwrap(), AddressOwner::ThisMachine);
        assert_eq!(owners.owner("192.0.2.7".parse().unwrap()).unwrap(), AddressOwner::Elsewhere);
    }

    #[test]
    fn what_was_not_found_out_is_an_error() {
        let address: IpAddr = "192.0.2.7".parse().unwrap();
        let failed = |errno: Errno| is_home(address, Err(errno.into())).ok();
        assert_eq!(failed(Errno::NETUNREACH), Some(false));
        assert_eq!(failed(Errno::MFILE), None);
        assert_eq!(failed(Errno::NOMEM), None);
        assert_eq!(is_home(address, Ok((address, 1).into())).ok(), Some(true));
    }
}
