//! The messages of SOCKS 5 and 4, read from bytes that may be anything.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far the bytes got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step<T> {
    /// It may become a message.
    NeedMore,
    /// A message, and how many bytes it took.
    Done(T, usize),
    /// It cannot become a message.
    Broken,
}

/// How a SOCKS 5 client is willing to say who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Login {
    /// Not at all.
    Nobody,
    /// With a name and a password. Any will do: who somebody is follows from where they are.
    Password,
    /// In some other way.
    Unknown,
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) command: u8,
    pub(super) address: Address,
    pub(super) port: u16,
}

/// Where to, as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Literal(IpAddr),
    /// Not yet checked for being a name.
    Name(Vec<u8>),
    /// A kind nobody knows.
    Unknown,
}

/// What a SOCKS 4 client may give as its user, or as a name.
const LONGEST_TEXT: usize = 255;

/// The first message of SOCKS 5.
pub(super) fn greeting(bytes: &[u8]) -> Step<Login> {
    match bytes {
        [] => Step::NeedMore,
        [5, 0, ..] => Step::Done(Login::Unknown, 2),
        [5, count, rest @ ..] => match rest.get(..usize::from(*count)) {
            Some(offered) if offered.contains(&0) => Step::Done(Login::Nobody, 2 + offered.len()),
            Some(offered) if offered.contains(&2) => Step::Done(Login::Password, 2 + offered.len()),
            Some(offered) => Step::Done(Login::Unknown, 2 + offered.len()),
            None => Step::NeedMore,
        },
        [5] => Step::NeedMore,
        _ => Step::Broken,
    }
}

/// A name and a password, which nobody looks at.
pub(super) fn password(bytes: &[u8]) -> Step<()> {
    match bytes {
        [] | [1] => Step::NeedMore,
        [1, name, rest @ ..] => match rest.get(usize::from(*name)) {
            Some(secret) => {
                let whole = 3 + usize::from(*name) + usize::from(*secret);
                if bytes.len() >= whole { Step::Done((), whole) } else { Step::NeedMore }
            }
            None => Step::NeedMore,
        },
        _ => Step::Broken,
    }
}

/// A request of SOCKS 5.
pub(super) fn five(bytes: &[u8]) -> Step<Request> {
    if bytes.first().is_some_and(|version| *version != 5) {
        return Step::Broken;
    }
    let Some((&[_, command, _, kind], rest)) = bytes.split_first_chunk::<4>() else { return Step::NeedMore };
    let (address, length) = match (kind, rest.first()) {
        (1, _) => match rest.first_chunk::<4>() {
            Some(octets) => (Address::Literal(Ipv4Addr::from(*octets).into()), 4),
            None => return Step::NeedMore,
        },
        (4, _) => match rest.first_chunk::<16>() {
            Some(octets) => (Address::Literal(Ipv6Addr::from(*octets).into()), 16),
            None => return Step::NeedMore,
        },
        (3, None) => return Step::NeedMore,
        (3, Some(length)) => match rest.get(1..1 + usize::from(*length)) {
            Some(name) => (Address::Name(name.to_vec()), 1 + name.len()),
            None => return Step::NeedMore,
        },
        // Its length is not known; whoever answers closes.
        _ => return Step::Done(Request { command, address: Address::Unknown, port: 0 }, bytes.len()),
    };
    match rest[length..].first_chunk::<2>() {
        Some(port) => {
            Step::Done(Request { command, address, port: u16::from_be_bytes(*port) }, 4 + length + 2)
        }
        None => Step::NeedMore,
    }
}

/// A request of SOCKS 4, or 4a where a name follows.
pub(super) fn four(bytes: &[u8]) -> Step<Request> {
    if bytes.first().is_some_and(|version| *version != 4) {
        return Step::Broken;
    }
    let Some((&[_, command, high, low, a, b, c, d], rest)) = bytes.split_first_chunk::<8>() else {
        return Step::NeedMore;
    };
    let port = u16::from_be_bytes([high, low]);
    let user = match text(rest) {
        Step::Done(user, _) => user,
        Step::NeedMore => return Step::NeedMore,
        Step::Broken => return Step::Broken,
    };
    let after = 8 + user.len() + 1;
    if [a, b, c] != [0, 0, 0] || d == 0 {
        let address = Address::Literal(Ipv4Addr::new(a, b, c, d).into());
        return Step::Done(Request { command, address, port }, after);
    }
    match text(&bytes[after..]) {
        Step::Done(name, length) => {
            Step::Done(Request { command, address: Address::Name(name.to_vec()), port }, after + length)
        }
        Step::NeedMore => Step::NeedMore,
        Step::Broken => Step::Broken,
    }
}

/// Bytes up to a zero.
fn text(bytes: &[u8]) -> Step<&[u8]> {
    match bytes.iter().take(LONGEST_TEXT + 1).position(|byte| *byte == 0) {
        Some(end) => Step::Done(&bytes[..end], end + 1),
        None if bytes.len() > LONGEST_TEXT => Step::Broken,
        None => Step::NeedMore,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(octets: [u8; 4]) -> Address {
        Address::Literal(Ipv4Addr::from(octets).into())
    }

    #[test]
    fn greetings() {
        let table: &[(&[u8], Step<Login>)] = &[
            (b"", Step::NeedMore),
            (b"\x05", Step::NeedMore),
            (b"\x05\x01", Step::NeedMore),
            (b"\x05\x02\x02", Step::NeedMore),
            (b"\x05\x01\x00", Step::Done(Login::Nobody, 3)),
            (b"\x05\x02\x02\x00rest", Step::Done(Login::Nobody, 4)),
            (b"\x05\x01\x02", Step::Done(Login::Password, 3)),
            (b"\x05\x02\x01\x80", Step::Done(Login::Unknown, 4)),
            (b"\x05\x00", Step::Done(Login::Unknown, 2)),
            (b"GET / HTTP/1.1", Step::Broken),
            (b"\x16\x03\x01", Step::Broken),
        ];
        for (bytes, expected) in table {
            assert_eq!(greeting(bytes), *expected, "{bytes:?}");
        }
    }

    #[test]
    fn passwords() {
        let table: &[(&[u8], Step<()>)] = &[
            (b"", Step::NeedMore),
            (b"\x01", Step::NeedMore),
            (b"\x01\x01u", Step::NeedMore),
            (b"\x01\x01u\x02p", Step::NeedMore),
            (b"\x01\x01u\x02pprest", Step::Done((), 6)),
            (b"\x01\x00\x00", Step::Done((), 3)),
            (b"\x05\x01\x00", Step::Broken),
        ];
        for (bytes, expected) in table {
            assert_eq!(password(bytes), *expected, "{bytes:?}");
        }
    }

    #[test]
    fn requests_of_five() {
        let request = |command, address, port| Request { command, address, port };
        let table: &[(&[u8], Step<Request>)] = &[
            (b"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", Step::Done(request(1, v4([127, 0, 0, 1]), 80), 10)),
            (
                b"\x05\x01\x00\x03\x01a\x01\xbbrest",
                Step::Done(request(1, Address::Name(b"a".into()), 443), 8),
            ),
            (b"\x05\x01\x00\x03\x00\x01\xbb", Step::Done(request(1, Address::Name(vec![]), 443), 7)),
            (b"\x05\x02\x00\x01\x01\x02\x03\x04\x00\x01", Step::Done(request(2, v4([1, 2, 3, 4]), 1), 10)),
            (b"\x05\x01\x00\x05abc", Step::Done(request(1, Address::Unknown, 0), 7)),
            (b"\x04\x01", Step::Broken),
        ];
        for (bytes, expected) in table {
            assert_eq!(five(bytes), *expected, "{bytes:?}");
        }
        let six = [&b"\x05\x01\x00\x04"[..], &[0; 15], &[1], &[0, 22]].concat();
        assert_eq!(five(&six), Step::Done(request(1, Address::Literal(Ipv6Addr::LOCALHOST.into()), 22), 22));
        for end in 0..six.len() {
            assert_eq!(five(&six[..end]), Step::NeedMore, "{end}");
        }
    }

    #[test]
    fn requests_of_four() {
        let request = |address, port| Request { command: 1, address, port };
        let table: &[(&[u8], Step<Request>)] = &[
            (b"\x04\x01\x00\x50\x01\x02\x03\x04me\0rest", Step::Done(request(v4([1, 2, 3, 4]), 80), 11)),
            (
                b"\x04\x01\x00\x50\x00\x00\x00\x01\0a.b\0",
                Step::Done(request(Address::Name(b"a.b".into()), 80), 13),
            ),
            (b"\x04\x01\x00\x50\x00\x00\x00\x01\0a.b", Step::NeedMore),
            (b"\x04\x01\x00\x50\x00\x00\x00\x00\0", Step::Done(request(v4([0, 0, 0, 0]), 80), 9)),
            (b"\x05\x01", Step::Broken),
        ];
        for (bytes, expected) in table {
            assert_eq!(four(bytes), *expected, "{bytes:?}");
        }
        let endless = [&b"\x04\x01\x00\x50\x01\x02\x03\x04"[..], &[b'u'; 255]].concat();
        assert_eq!(four(&endless), Step::NeedMore);
        assert_eq!(four(&[&endless[..], b"u"].concat()), Step::Broken);
    }

    fn length<T>(step: &Step<T>) -> usize {
        match step {
            Step::Done(_, length) => *length,
            Step::NeedMore | Step::Broken => 0,
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_them_panic_or_takes_more_than_there_is(bytes: Vec<u8>) {
            for version in [1, 4, 5] {
                let bytes = [&[version][..], &bytes].concat();
                proptest::prop_assert!(length(&five(&bytes)) <= bytes.len());
                proptest::prop_assert!(length(&four(&bytes)) <= bytes.len());
                proptest::prop_assert!(length(&password(&bytes)) <= bytes.len());
                proptest::prop_assert!(length(&greeting(&bytes)) <= bytes.len());
            }
        }
    }
}
