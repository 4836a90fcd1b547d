//! What kind of address a name leads to.
//!
//! An address is judged in every form it can be read in: a tunnel's address that carries an IPv4 one leads
//! where that one does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is to somebody who follows a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reach {
    /// Anybody's.
    Public,
    /// Somebody's own network: private, carrier-grade, unique-local, site-local.
    Private,
    /// No name may lead there, because of this.
    Never(&'static str),
}

/// Where clouds hand out a machine's own secrets.
const METADATA: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];
pub(super) const METADATA_SERVICE: &str = "a cloud's metadata service";

/// The address, and every IPv4 address it carries.
pub(super) fn forms(address: IpAddr) -> Vec<IpAddr> {
    let address = address.to_canonical();
    let mut forms = vec![address];
    if let IpAddr::V6(address) = address {
        forms.extend(carried(address).into_iter().flatten().map(IpAddr::V4));
    }
    forms
}

/// The strictest of what the forms of an address are.
pub(super) fn reach(address: IpAddr) -> Reach {
    let mut strictest = Reach::Public;
    for form in forms(address) {
        match of(form) {
            Reach::Never(why) => return Reach::Never(why),
            Reach::Private => strictest = Reach::Private,
            Reach::Public => {}
        }
    }
    strictest
}

/// Whether it is this machine itself, in some form.
pub(super) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Whether whoever connects there reaches itself, in whichever form it is written.
pub(super) fn is_own(address: IpAddr) -> bool {
    forms(address).iter().any(|form| form.is_loopback() || form.is_unspecified())
}

fn of(address: IpAddr) -> Reach {
    if METADATA.contains(&address) {
        return Reach::Never(METADATA_SERVICE);
    }
    match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => of_v6(address),
    }
}

fn of_v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        [127, ..] => Reach::Never("a loopback address"),
        [0, 0, 0, 0] => Reach::Never("the unspecified address"),
        [255, 255, 255, 255] => Reach::Never("the broadcast address"),
        [169, 254, ..] => Reach::Never("a link-local address"),
        [224..=239, ..] => Reach::Never("a multicast address"),
        // This network, protocol assignments, measuring networks (our own pool among them), the future.
        [0, ..] | [192, 0, 0, _] | [198, 18 | 19, ..] | [240..=255, ..] => Reach::Never("a reserved address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Reach::Private,
        _ => Reach::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> Reach {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Reach::Never("a loopback address"),
        [0, 0, 0, 0, 0, 0, 0, 0] => Reach::Never("the unspecified address"),
        [0xfe80..=0xfebf, ..] => Reach::Never("a link-local address"),
        [0xff00..=0xffff, ..] => Reach::Never("a multicast address"),
        // Discarded by definition.
        [0x100, 0, 0, 0, ..] => Reach::Never("a reserved address"),
        // Networks that clouds keep for their own services: metadata, credentials, time.
        [0xfd00, 0xec2 | 0xc1 | 0x42, ..] => Reach::Never(METADATA_SERVICE),
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Reach::Private,
        _ => Reach::Public,
    }
}

/// The IPv4 addresses inside: compatible, 6to4, NAT64 with either prefix, Teredo's server and client, ISATAP.
fn carried(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let parts = address.segments();
    let pair = |at: usize| v4(parts[at], parts[at + 1]);
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => [None, None],
        [0, 0, 0, 0, 0, 0, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, 0, 0, 0, 0, ..]
        | [0x64, 0xff9b, 1, ..] => [Some(pair(6)), None],
        [0x2002, ..] => [Some(pair(1)), None],
        // The client's address is stored with every bit turned.
        [0x2001, 0, ..] => [Some(pair(2)), Some(v4(!parts[6], !parts[7]))],
        [.., 0 | 0x200, 0x5efe, _, _] => [Some(pair(6)), None],
        _ => [None, None],
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clothing_is_looked_through() {
        for (text, expected) in [
            ("93.184.216.34", Reach::Public),
            ("192.0.2.7", Reach::Public),
            ("2606:2800:220:1::1", Reach::Public),
            ("2001:db8::1", Reach::Public),
            ("10.1.2.3", Reach::Private),
            ("172.16.0.1", Reach::Private),
            ("172.31.255.255", Reach::Private),
            ("172.32.0.1", Reach::Public),
            ("192.168.1.1", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("100.127.255.255", Reach::Private),
            ("100.128.0.1", Reach::Public),
            ("fd00::1", Reach::Private),
            ("fec0::1", Reach::Private),
            ("127.0.0.1", Reach::Never("a loopback address")),
            ("127.255.255.254", Reach::Never("a loopback address")),
            ("::1", Reach::Never("a loopback address")),
            ("0.0.0.0", Reach::Never("the unspecified address")),
            ("0.1.2.3", Reach::Never("a reserved address")),
            ("::", Reach::Never("the unspecified address")),
            ("255.255.255.255", Reach::Never("the broadcast address")),
            ("240.0.0.1", Reach::Never("a reserved address")),
            ("198.18.0.1", Reach::Never("a reserved address")),
            ("192.0.0.192", Reach::Never("a reserved address")),
            ("224.0.0.1", Reach::Never("a multicast address")),
            ("ff02::1", Reach::Never("a multicast address")),
            ("169.254.1.1", Reach::Never("a link-local address")),
            ("fe80::1", Reach::Never("a link-local address")),
            ("febf::1", Reach::Never("a link-local address")),
            ("100::1", Reach::Never("a reserved address")),
            ("169.254.169.254", Reach::Never(METADATA_SERVICE)),
            ("100.100.100.200", Reach::Never(METADATA_SERVICE)),
            ("168.63.129.16", Reach::Never(METADATA_SERVICE)),
            ("fd00:ec2::254", Reach::Never(METADATA_SERVICE)),
            ("fd20:ce::254", Reach::Never(METADATA_SERVICE)),
            ("::ffff:127.0.0.1", Reach::Never("a loopback address")),
            ("::ffff:10.0.0.1", Reach::Private),
            ("::127.0.0.1", Reach::Never("a loopback address")),
            ("::a9fe:a9fe", Reach::Never(METADATA_SERVICE)),
            ("64:ff9b::7f00:1", Reach::Never("a loopback address")),
            ("64:ff9b::5db8:d822", Reach::Public),
            ("64:ff9b:1::a9fe:a9fe", Reach::Never(METADATA_SERVICE)),
            ("2002:7f00:1::", Reach::Never("a loopback address")),
            ("2002:a00:1::1", Reach::Private),
            ("2001:0:7f00:1::1", Reach::Never("a loopback address")),
            // 127.0.0.1 with every bit turned.
            ("2001:0:5db8:d822::80ff:fffe", Reach::Never("a loopback address")),
            ("2606:2800:220:1:0:5efe:7f00:1", Reach::Never("a loopback address")),
            ("2606:2800:220:1:200:5efe:a00:1", Reach::Private),
        ] {
            assert_eq!(reach(text.parse().unwrap()), expected, "{text}");
        }
    }
}
