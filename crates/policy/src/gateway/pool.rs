//! The addresses that are lent to names inside a sandbox: one number stands for one name in both families.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// 198.18.0.0/15, set aside for measuring network devices: no program has business there.
const V4: u32 = Ipv4Addr::new(198, 18, 0, 0).to_bits();
const V4_PREFIX: u32 = 15;
/// fd53:746f:636b::/96, a unique-local network of our own.
const V6: u128 = Ipv6Addr::new(0xfd53, 0x746f, 0x636b, 0, 0, 0, 0, 0).to_bits();

/// The two addresses with this number in the pool; `None` past its end.
pub fn lent_addresses(number: u32) -> Option<(Ipv4Addr, Ipv6Addr)> {
    let is_within = number >> (u32::BITS - V4_PREFIX) == 0;
    is_within.then(|| (Ipv4Addr::from_bits(V4 + number), Ipv6Addr::from_bits(V6 + u128::from(number))))
}

/// The place of an address in the pool, lent or not; 0 is the network's own. `None` for every other address.
pub fn lent_number(address: IpAddr) -> Option<u32> {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let number = address.to_bits().wrapping_sub(V4);
            (number >> (u32::BITS - V4_PREFIX) == 0).then_some(number)
        }
        IpAddr::V6(address) => u32::try_from(address.to_bits().wrapping_sub(V6)).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<u32> {
        lent_number(text.parse().unwrap())
    }

    #[test]
    fn knows_its_borders() {
        for (text, expected) in [
            ("198.18.0.0", 0),
            ("198.18.0.1", 1),
            ("::ffff:198.18.0.2", 2),
            ("198.19.255.255", (1 << 17) - 1),
            ("fd53:746f:636b::", 0),
            ("fd53:746f:636b::ffff:ffff", u32::MAX),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        for text in [
            "198.17.255.255",
            "198.20.0.0",
            "0.0.0.1",
            "fd53:746f:636a:ffff:ffff:ffff:ffff:ffff",
            "fd53:746f:636b::1:0:0",
            "fd53:746f:636c::1",
            "::1",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn both_families_end_together() {
        let last = (1 << 17) - 1;
        let (four, six) = lent_addresses(last).unwrap();
        assert_eq!(
            (four.to_string(), six.to_string()),
            ("198.19.255.255".into(), "fd53:746f:636b::1:ffff".into())
        );
        assert_eq!((lent_number(four.into()), lent_number(six.into())), (Some(last), Some(last)));
        assert_eq!(lent_addresses(last + 1), None);
    }
}
