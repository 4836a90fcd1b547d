//! Whether an address is one of this machine's.

use crate::sys::interface_addresses;
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
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
        Ok(match self.on_interface(address)? || leads_home(address) {
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
fn leads_home(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let local = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    // Without a route there is no connection either.
    local.is_ok_and(|local| local.ip().to_canonical() == address)
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
}
