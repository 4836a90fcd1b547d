//! The name in a lookup. Where there is no network nobody answers, but a refusal should say what was asked for.

use std::net::SocketAddr;
use stockade_policy::{Host, Refusal, Switch, ViolationKind};

/// Where names are looked up.
pub(crate) const NAME_PORT: u16 = 53;
const NO_NETWORK: &str = "no network is allowed, the sandbox has only its own loopback";
/// Before the first question.
const HEADER: usize = 12;
/// The longest name as people write it.
const LONGEST: usize = 253;
/// Labels that long, or pointers.
const LONGEST_LABEL: u8 = 63;

/// The name that the first question of a query is about. Every byte of it is hostile.
pub(crate) fn name_in(query: &[u8]) -> Option<String> {
    const IS_ANSWER: u8 = 0x80;
    let questions = u16::from_be_bytes(query.get(4..6)?.try_into().ok()?);
    if query[2] & IS_ANSWER != 0 || questions == 0 {
        return None;
    }
    let mut rest = query.get(HEADER..)?;
    let mut name = String::new();
    loop {
        let (length, behind) = rest.split_first()?;
        match *length {
            0 => break,
            length @ 1..=LONGEST_LABEL => {
                let (label, after) = behind.split_at_checked(length.into())?;
                if !name.is_empty() {
                    name.push('.');
                }
                // Nobody looks up anything else, and it would be read for something else.
                if !label.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
                    return None;
                }
                name.push_str(&String::from_utf8_lossy(label).to_ascii_lowercase());
                rest = after;
            }
            _ => return None,
        }
    }
    (1..=LONGEST).contains(&name.len()).then_some(name)
}

/// What is said of anything that would need a network.
pub(crate) fn no_network() -> Refusal {
    Refusal {
        rule: None,
        reason: NO_NETWORK.into(),
        suggestion: Some("--allow-domain HOST".into()),
        grantable: Switch::Refused,
    }
}

/// What a lookup is called, and what is said of it: by its name where it has one, by its server else.
pub(crate) fn refused(name: Option<String>, server: SocketAddr) -> (ViolationKind, String, Refusal) {
    let Some(name) = name else { return (ViolationKind::Resolve, server.to_string(), no_network()) };
    let suggestion = match Host::parse(name.as_bytes()) {
        Ok(Host::Name(host)) => Some(format!("--allow-domain {host}")),
        _ => None,
    };
    (ViolationKind::Resolve, name, Refusal { suggestion, ..no_network() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(name: &[u8]) -> Vec<u8> {
        let header = [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        [&header, name, &[0, 1, 0, 1]].concat()
    }

    #[test]
    fn the_name_is_found() {
        assert_eq!(name_in(&query(b"\x03API\x07example\x03org\0")).as_deref(), Some("api.example.org"));
        assert_eq!(name_in(&query(b"\x01a\0")).as_deref(), Some("a"));
        // What stands behind the name may be cut off.
        let whole = query(b"\x01a\x02bc\0");
        assert_eq!(name_in(&whole[..whole.len() - 4]).as_deref(), Some("a.bc"));
    }

    #[test]
    fn what_is_no_query_has_no_name() {
        for odd in [&b""[..], b"\x12\x34", &query(b"\0"), &query(b"\xc0\x0c"), &query(b"\x05ab")] {
            assert_eq!(name_in(odd), None, "{odd:?}");
        }
        let mut answer = query(b"\x01a\0");
        answer[2] |= 0x80;
        assert_eq!(name_in(&answer), None);
        let mut empty = query(b"\x01a\0");
        empty[5] = 0;
        assert_eq!(name_in(&empty), None);
        let long = [b"\x3f".as_slice(), &[b'a'; 63]].concat().repeat(5);
        assert_eq!(name_in(&query(&[long.as_slice(), b"\0"].concat())), None);
    }

    #[test]
    fn what_no_host_is_called_is_no_name() {
        let server = "8.8.8.8:53".parse().unwrap();
        for odd in [&b"\x04a\x1b[m\0"[..], b"\x06a.test\0", b"\x03a b\0", b"\x02\xc3\xa4\0", b"\x03a\\b\0"] {
            assert_eq!(name_in(&query(odd)), None, "{odd:?}");
        }
        assert_eq!(name_in(&query(b"\x05_ldap\x01a\0")).as_deref(), Some("_ldap.a"));
        let (kind, subject, refusal) = refused(Some("example.org".to_owned()), server);
        assert_eq!((kind, subject.as_str()), (ViolationKind::Resolve, "example.org"));
        assert_eq!(refusal.suggestion.as_deref(), Some("--allow-domain example.org"));
        assert_eq!(refused(None, server).1, "8.8.8.8:53");
    }
}
