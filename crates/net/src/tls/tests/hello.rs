//! Reading the first message of clients, real and forged.

use super::super::hello::{Ech, Hello, sniff};
use proptest::prelude::*;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_pki_types::ServerName;
use std::sync::Arc;
use stockade_policy::Host;

/// The first bytes of a real client.
fn real(name: &'static str, alpn: &[&[u8]]) -> Vec<u8> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|one| one.to_vec()).collect();
    let name = ServerName::try_from(name).unwrap();
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

fn vector(width: usize, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_be_bytes();
    [&length[4 - width..], content].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &vector(2, content)].concat()
}

fn name(bytes: &[u8]) -> Vec<u8> {
    extension(0, &vector(2, &[&[0][..], &vector(2, bytes)].concat()))
}

/// A handshake message with these extensions.
fn message(extensions: &[Vec<u8>]) -> Vec<u8> {
    let body =
        [&[3, 3][..], &[7; 32], &vector(1, &[9; 32]), &vector(2, &[0x13, 1]), &vector(1, &[0])].concat();
    let body = [body, vector(2, &extensions.concat())].concat();
    [vec![1], vector(3, &body)].concat()
}

fn records(message: &[u8], size: usize) -> Vec<u8> {
    let mut all = Vec::new();
    for part in message.chunks(size) {
        all.extend([&[22, 3, 1][..], &vector(2, part)].concat());
    }
    all
}

fn forged(extensions: &[Vec<u8>]) -> Hello {
    sniff(&records(&message(extensions), 16_000))
}

fn host(name: &str) -> Host {
    Host::parse(name.as_bytes()).unwrap()
}

#[test]
fn a_real_client_is_read() {
    let bytes = real("Example.ORG", &[b"h2", b"http/1.1"]);
    assert_eq!(
        sniff(&bytes),
        Hello::Client {
            sni: Some(host("example.org")),
            alpn: vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            ech: Ech::Absent,
            version: 0x0304,
        }
    );
    let Hello::Client { sni, alpn, .. } = sniff(&real("192.0.2.1", &[])) else { panic!() };
    assert_eq!((sni, alpn), (None, vec![]));
}

#[test]
fn every_beginning_of_a_hello_waits_for_more() {
    let whole = real("example.org", &[b"h2"]);
    for end in 0..whole.len() {
        assert_eq!(sniff(&whole[..end]), Hello::NeedMore, "{end}");
    }
    let split = records(&message(&[name(b"example.org")]), 3);
    for end in 0..split.len() {
        assert_eq!(sniff(&split[..end]), Hello::NeedMore, "{end}");
    }
}

#[test]
fn records_of_any_size_give_the_same() {
    let message = message(&[name(b"example.org"), extension(16, &vector(2, &vector(1, b"h2")))]);
    let expected = sniff(&records(&message, 16_000));
    assert!(matches!(expected, Hello::Client { .. }));
    for size in 1..message.len() {
        assert_eq!(sniff(&records(&message, size)), expected, "{size}");
    }
    let with_more = [records(&message, 5), vec![20, 3, 3, 0, 1, 1]].concat();
    assert_eq!(sniff(&with_more), expected);
}

#[test]
fn odd_values_that_clients_mix_in_are_passed_over() {
    let hello = forged(&[
        extension(0x0a0a, &[]),
        name(b"example.org"),
        extension(43, &vector(1, &[0xfa, 0xfa, 3, 4, 3, 3])),
        extension(16, &vector(2, &[vector(1, &[0x1a, 0x1a]), vector(1, b"h2")].concat())),
        extension(0xfe0d, &[0; 200]),
        extension(0xfafa, &[0]),
    ]);
    let Hello::Client { sni, alpn, ech, version } = hello else { panic!("{hello:?}") };
    assert_eq!(sni, Some(host("example.org")));
    assert_eq!(alpn, [b"\x1a\x1a".to_vec(), b"h2".to_vec()]);
    assert_eq!((ech, version), (Ech::Offered, 0x0304));
}

#[test]
fn large_hellos_are_read_up_to_a_bound() {
    let padded = |size| message(&[name(b"example.org"), extension(21, &vec![0; size])]);
    for size in [1_800, 8_000, 16_000] {
        let hello = sniff(&records(&padded(size), 16_384));
        assert!(matches!(hello, Hello::Client { .. }), "{size} {hello:?}");
    }
    assert_eq!(sniff(&records(&padded(17_000), 16_384)), Hello::Broken);
    // A few bytes a record: it never ends, and is not waited for.
    let endless = records(&padded(16_000), 2);
    assert_eq!(sniff(&endless[..32_000]), Hello::NeedMore);
    assert_eq!(sniff(&endless[..33_000]), Hello::Broken);
}

#[test]
fn names_that_are_none_are_told_apart() {
    let two = [vec![0], vector(2, b"a.example.org"), vec![0], vector(2, b"b.example.org")].concat();
    let odd = [vec![1], vector(2, b"a.example.org")].concat();
    for (what, bad) in [
        ("two names", extension(0, &vector(2, &two))),
        ("another kind of name", extension(0, &vector(2, &odd))),
        ("no name", extension(0, &vector(2, &[]))),
        ("an empty name", name(b"")),
        ("a zero", name(b"evil.test\0.allow.test")),
        ("another address", name(b"0x7f000001")),
        ("another script", name("exämple.org".as_bytes())),
        ("more after the list", extension(0, &[vector(2, &[]), vec![1]].concat())),
    ] {
        assert!(matches!(forged(&[bad]), Hello::BadName(_)), "{what}");
    }
    let Hello::Client { sni, .. } = forged(&[name(b"EXAMPLE.org.")]) else { panic!() };
    assert_eq!(sni, Some(host("example.org")));
    let Hello::Client { sni, .. } = forged(&[name(b"192.0.2.1")]) else { panic!() };
    assert_eq!(sni, Some(host("192.0.2.1")));
}

#[test]
fn what_can_be_read_in_two_ways_is_broken() {
    assert_eq!(forged(&[name(b"a.example.org"), name(b"b.example.org")]), Hello::Broken);
    assert_eq!(forged(&[extension(16, &vector(2, &[0]))]), Hello::Broken);
    assert_eq!(forged(&[vec![0, 0, 0, 9]]), Hello::Broken);
    let mut trailing = message(&[name(b"a.example.org")]);
    trailing.push(0);
    trailing[3] += 1;
    assert_eq!(sniff(&records(&trailing, 16_000)), Hello::Broken);
    let interrupted = [records(&message(&[])[..20], 20), vec![23, 3, 3, 0, 1, 0]].concat();
    assert_eq!(sniff(&interrupted), Hello::Broken);
}

#[test]
fn other_protocols_are_known_at_once() {
    for first in [&b"GET / HTTP/1.1\r\n"[..], b"SSH-2.0-OpenSSH", b"\x16\x02", b"\0"] {
        assert_eq!(sniff(first), Hello::NotTls, "{first:?}");
    }
    assert_eq!(sniff(b""), Hello::NeedMore);
}

/// Servers are not as particular as the books: what one of them may take for TLS is never passed on unread.
#[test]
fn what_is_nearly_tls_is_not_something_else() {
    for first in [
        &b"\x16\x03\x01\x00\x00"[..],
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x01\x00\x04\x02",
        b"\x14\x03\x01",
        b"\x15\x03\x01",
        b"\x17\x03\x03",
        b"\x80\x2e\x01\x03\x01",
    ] {
        assert_eq!(sniff(first), Hello::Broken, "{first:?}");
    }
    for minor in [0, 5, 16, 255] {
        let mut hello = records(&message(&[name(b"a.example.org")]), 16_000);
        hello[2] = minor;
        let Hello::Client { sni, .. } = sniff(&hello) else { panic!("{minor}") };
        assert_eq!(sni.unwrap().to_string(), "a.example.org");
    }
}

#[test]
fn a_hello_without_extensions_is_an_old_one() {
    let body = [&[3, 1][..], &[7; 32], &[0], &vector(2, &[0, 5]), &vector(1, &[0])].concat();
    let message = [vec![1], vector(3, &body)].concat();
    let expected = Hello::Client { sni: None, alpn: vec![], ech: Ech::Absent, version: 0x0301 };
    assert_eq!(sniff(&records(&message, 16_000)), expected);
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(bytes: Vec<u8>) {
        sniff(&bytes);
        sniff(&[&[22, 3, 1][..], &bytes].concat());
        sniff(&records(&[vec![1], vector(3, &bytes)].concat(), 16_000));
    }

    #[test]
    fn a_changed_byte_never_makes_it_panic(at in 0usize..400, to: u8, end in 0usize..400) {
        let mut bytes = real("example.org", &[b"h2"]);
        let length = bytes.len();
        bytes[at % length] = to;
        sniff(&bytes);
        sniff(&bytes[..end.min(length)]);
    }
}
