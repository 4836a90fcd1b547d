//! Names that ask for the name behind an address: `1.0.18.198.in-addr.arpa`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address a reverse name is about, where it is a whole one.
pub(super) fn address_of(name: &str) -> Option<IpAddr> {
    if let Some(front) = name.strip_suffix(".in-addr.arpa") {
        let mut octets = [0; 4];
        fill(&mut octets, front.split('.').map(octet))?;
        return Some(Ipv4Addr::from(octets).into());
    }
    let front = name.strip_suffix(".ip6.arpa")?;
    let mut digits = [0; 32];
    fill(&mut digits, front.split('.').map(digit))?;
    let bits = digits.iter().fold(0, |bits, digit| bits << 4 | u128::from(*digit));
    Some(IpAddr::V6(Ipv6Addr::from_bits(bits)).to_canonical())
}

/// Puts parts in from the end; they must be as many as there is room for.
fn fill(room: &mut [u8], parts: impl Iterator<Item = Option<u8>>) -> Option<()> {
    let mut free = room.iter_mut().rev();
    for part in parts {
        *free.next()? = part?;
    }
    free.next().is_none().then_some(())
}

fn octet(text: &str) -> Option<u8> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

fn digit(text: &str) -> Option<u8> {
    let [digit] = text.as_bytes() else { return None };
    char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_whole_addresses_only() {
        assert_eq!(address_of("1.0.18.198.in-addr.arpa"), Some("198.18.0.1".parse().unwrap()));
        let six = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.6.3.6.f.6.4.7.3.5.d.f.ip6.arpa";
        assert_eq!(address_of(six), Some("fd53:746f:636b::1".parse().unwrap()));
        let odd = [
            "0.18.198.in-addr.arpa",
            "5.1.0.18.198.in-addr.arpa",
            "01.0.18.198.in-addr.arpa",
            "+1.0.18.198.in-addr.arpa",
            "256.0.18.198.in-addr.arpa",
            "c2VjcmV0.0.18.198.in-addr.arpa",
            "in-addr.arpa",
            "1.ip6.arpa",
            "1.0.18.198.in-addr.arpa.evil.test",
        ];
        for name in odd {
            assert_eq!(address_of(name), None, "{name}");
        }
    }
}
