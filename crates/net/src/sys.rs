//! What neither std nor rustix offers safely: the addresses of this machine's interfaces.
#![expect(unsafe_code, reason = "raw calls live here and nowhere else")]

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Every address that an interface of this machine has.
pub(crate) fn interface_addresses() -> io::Result<HashSet<IpAddr>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `first` is a valid place for the list's head, which is freed below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = HashSet::new();
    let mut entry = first;
    while !entry.is_null() {
        // SAFETY: `entry` comes from the list of getifaddrs, which lives until freeifaddrs below.
        let current = unsafe { &*entry };
        if !current.ifa_addr.is_null() {
            // SAFETY: the address is not null and points to at least its family.
            let family = i32::from(unsafe { (*current.ifa_addr).sa_family });
            match family {
                libc::AF_INET => {
                    // SAFETY: the family says that the address is a sockaddr_in; it may lie unaligned.
                    let address: libc::sockaddr_in =
                        unsafe { std::ptr::read_unaligned(current.ifa_addr.cast()) };
                    found.insert(IpAddr::V4(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr))));
                }
                libc::AF_INET6 => {
                    // SAFETY: the family says that the address is a sockaddr_in6; it may lie unaligned.
                    let address: libc::sockaddr_in6 =
                        unsafe { std::ptr::read_unaligned(current.ifa_addr.cast()) };
                    found.insert(IpAddr::V6(Ipv6Addr::from(address.sin6_addr.s6_addr)).to_canonical());
                }
                _ => {}
            }
        }
        entry = current.ifa_next;
    }
    // SAFETY: `first` is the head that getifaddrs gave, freed once; nothing of the list is used after.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_among_them() {
        assert!(interface_addresses().unwrap().contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)));
    }
}
