//! Spellings of hosts and targets.

use crate::gateway::{Host, HostError, Target};
use proptest::prelude::*;

#[test]
fn what_is_a_host() {
    for (text, expected) in [
        ("example.org", "example.org"),
        ("EXAMPLE.Org", "example.org"),
        ("example.org.", "example.org"),
        ("a", "a"),
        ("localhost", "localhost"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("_dmarc.example.org", "_dmarc.example.org"),
        ("a_b.example.org", "a_b.example.org"),
        ("1.example.org", "1.example.org"),
        ("0x7f.example.org", "0x7f.example.org"),
        ("192.0.2.1", "192.0.2.1"),
        ("::1", "[::1]"),
        ("[::1]", "[::1]"),
        ("[2001:DB8::0:1]", "[2001:db8::1]"),
        ("[::ffff:192.0.2.1]", "192.0.2.1"),
        ("::ffff:c000:201", "192.0.2.1"),
    ] {
        assert_eq!(
            Host::parse(text.as_bytes()).map(|host| host.to_string()).as_deref(),
            Ok(expected),
            "{text}"
        );
    }
}

#[test]
fn what_is_none() {
    let long = format!("{}.example", "a".repeat(64));
    let longer = format!("{}example", "a.".repeat(200));
    for text in [
        "",
        ".",
        "..",
        ".example.org",
        "example..org",
        "example.org..",
        "a b",
        " a",
        "a\t",
        "a\n",
        "a\r\n",
        "evil.test\0.allow.test",
        "a%2eb",
        "a%00",
        "%61",
        "user@example.org",
        "a/b",
        "a\\b",
        "a?b",
        "a#b",
        "a:b",
        "*.example.org",
        "*",
        "a,b",
        "a;b",
        "-a.org",
        "a-.org",
        "xn--",
        "xn--a\u{fc}",
        "xn--zzzzzz99999999",
        "exampl\u{ff0e}org",
        "example\u{3002}org",
        "example\u{ff61}org",
        "b\u{fc}cher.example",
        "\u{ff41}.org",
        "127.1",
        "127.0.1",
        "0x7f000001",
        "0x7f.1",
        "0X7F.0.0.1",
        "017700000001",
        "2130706433",
        "0177.0.0.1",
        "127.0.0.1.",
        "127.0.0.01",
        "1.2.3.4.5",
        "1.2.3",
        "0x",
        "a.1",
        "a.0x1",
        "256.1.1.1",
        "[::1",
        "::1]",
        "[]",
        "[127.0.0.1]",
        "[fe80::1%eth0]",
        "fe80::1%eth0",
        "[::1]x",
        "[example.org]",
        "1::2::3",
        ":::",
        &long,
        &longer,
    ] {
        assert!(Host::parse(text.as_bytes()).is_err(), "{text:?}");
    }
    assert!(Host::parse(b"\xff\xfe").is_err());
    assert!(matches!(Host::parse(b"127.1"), Err(HostError::Disguised(_))));
    assert!(matches!(Host::parse(&[b'a'; 300]), Err(HostError::TooLong(300))));
}

#[test]
fn what_is_a_target() {
    for (text, default, expected) in [
        ("example.org:443", None, Some("example.org:443")),
        ("example.org", Some(80), Some("example.org:80")),
        ("example.org.:443", None, Some("example.org:443")),
        ("[::1]:80", None, Some("[::1]:80")),
        ("[::1]", Some(80), Some("[::1]:80")),
        ("192.0.2.1:65535", None, Some("192.0.2.1:65535")),
        ("example.org", None, None),
        ("example.org:", Some(80), None),
        ("example.org:0", None, None),
        ("example.org:65536", None, None),
        ("example.org:+80", None, None),
        ("example.org:8 0", None, None),
        ("example.org:80:80", None, None),
        ("::1", Some(80), None),
        ("::1:80", None, None),
        ("[::1]:", None, None),
        (":80", None, None),
        ("user@example.org:80", None, None),
        ("example.org:80\0", None, None),
        ("evil.test\0.allow.test:443", None, None),
        ("127.1:80", None, None),
    ] {
        let read = Target::parse(text.as_bytes(), default).map(|target| target.to_string()).ok();
        assert_eq!(read.as_deref(), expected, "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_give_one_form_or_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        check(&bytes);
    }

    #[test]
    fn likely_bytes_too(text in "[a-cA-C0-9x._:%@\\[\\]*-]{0,24}") {
        check(text.as_bytes());
    }
}

fn check(bytes: &[u8]) {
    let Ok(host) = Host::parse(bytes) else { return };
    let shown = host.to_string();
    assert_eq!(Host::parse(shown.as_bytes()).as_ref(), Ok(&host), "{shown}");
    if let Host::Name(name) = &host {
        let label = |label: &str| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
        };
        assert!(name.split('.').all(label), "{name}");
        assert!(
            !name.ends_with(|last: char| last.is_ascii_digit())
                || name.rsplit('.').next().is_some_and(|last| last.parse::<u64>().is_err())
        );
    }
    let with_port = format!("{shown}:443");
    assert_eq!(Target::parse(with_port.as_bytes(), None).ok().map(|target| target.host), Some(host));
}
