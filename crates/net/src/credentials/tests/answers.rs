//! Real values that come back.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;

fn scrubbed(scrubber: Option<Scrubber>, pieces: &[&str]) -> String {
    let mut scrubber = scrubber.unwrap();
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(scrubber.push(Bytes::copy_from_slice(piece.as_bytes())));
    }
    out.extend(scrubber.finish());
    String::from_utf8(out).unwrap()
}

#[test]
fn real_values_are_covered_in_every_spelling_and_cut() {
    let (vault, stand_in) = one(REAL, &["api.test"], Switch::Refused);
    let scrubber = || vault.scrubber(&to("api.test:443"), Channel::Tls);
    for spelling in [
        REAL,
        "re%22al%2F%2B%26%20%5Ctok%25n",
        "re%22al%2f%2b%26%20%5ctok%25n",
        "re%22al%2F%2B%26+%5Ctok%25n",
        "re\\\"al/+& \\\\tok%n",
        "re\\\"al\\/+& \\\\tok%n",
        "re\\\"al/+\\u0026 \\\\tok%n",
        "re\\u0022al\\u002f\\u002b\\u0026\\u0020\\u005ctok\\u0025n",
        "re\\u0022al\\u002F\\u002B\\u0026\\u0020\\u005Ctok\\u0025n",
        "re&quot;al/+&amp; \\tok%n",
    ] {
        let text = format!("<{spelling}{spelling}> {}", &spelling[..5]);
        let cover: String = stand_in.chars().cycle().take(spelling.len()).collect();
        let expected = format!("<{cover}{cover}> {}", &spelling[..5]);
        assert_eq!(scrubbed(scrubber(), &[&text]), expected);
        for cut in 0..text.len() {
            let (first, rest) = text.split_at(cut);
            assert_eq!(scrubbed(scrubber(), &[first, rest]), expected, "{cut}");
        }
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(scrubbed(scrubber(), &letters), expected);
    }
}

#[test]
fn heads_are_covered() {
    let (vault, _) = one("SECRET-VALUE", &["api.test"], Switch::Refused);
    let mut head = head("GET", "/", &[("location", "/x?key=SECRET-VALUE"), ("x-other", "plain")]);
    vault.scrubber(&to("api.test:443"), Channel::Tls).unwrap().head(&mut head.headers);
    assert!(value(&head, "location").starts_with("/x?key=fake_value_"), "{head:?}");
    assert_eq!(value(&head, "location").len(), "/x?key=SECRET-VALUE".len());
    assert_eq!(value(&head, "x-other"), "plain");
}

#[test]
fn only_hosts_that_may_know_are_looked_at() {
    let (vault, _) = one("SECRET-VALUE", &["api.test"], Switch::Refused);
    assert!(vault.scrubber(&to("other.test:443"), Channel::Tls).is_none());
    assert!(vault.scrubber(&to("api.test:80"), Channel::Plain).is_none());
    let (short, _) = one("a", &["api.test"], Switch::Refused);
    let scrubber = short.scrubber(&to("api.test:443"), Channel::Tls);
    assert_eq!(scrubbed(scrubber, &["banana"]), "banana");
}

/// Wherever it begins in what was encoded, and whatever stands around it.
#[test]
fn real_values_are_covered_in_base64() {
    let real = "se?cret>>value~~";
    let (vault, stand_in) = one(real, &["api.test"], Switch::Refused);
    for before in ["", ":", "u:", "us:", "user:"] {
        for after in ["", "!", "!!", "!!!"] {
            let plain = format!("{before}{real}{after}");
            for (encoded, decode) in [
                (STANDARD.encode(&plain), (|text| STANDARD.decode(text)) as fn(String) -> _),
                (URL_SAFE_NO_PAD.encode(&plain), |text| URL_SAFE_NO_PAD.decode(text)),
            ] {
                for cut in [0, 5, encoded.len() / 2, encoded.len()] {
                    let scrubber = vault.scrubber(&to("api.test:443"), Channel::Tls);
                    let (first, rest) = encoded.split_at(cut);
                    let heard = decode(scrubbed(scrubber, &[first, rest])).unwrap();
                    assert_eq!(heard.len(), plain.len());
                    let heard = String::from_utf8_lossy(&heard);
                    assert!(heard.starts_with(before) && heard.ends_with(after), "{heard}");
                    assert!(heard.contains(&stand_in[1..real.len() - 1]), "{plain}: {heard}");
                }
            }
        }
    }
}

/// Frames of a server, each with its first byte and its content.
fn frames(frames: &[(u8, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (first, content) in frames {
        bytes.push(*first);
        match content.len() {
            length @ 0..126 => bytes.push(u8::try_from(length).unwrap()),
            length => {
                bytes.push(126);
                bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
            }
        }
        bytes.extend(content.as_bytes());
    }
    bytes
}

#[test]
fn messages_of_web_sockets_are_covered_however_they_are_cut() {
    let (vault, stand_in) = one("SECRET-VALUE", &["api.test"], Switch::Refused);
    let scrubber = || FrameScrubber::new(vault.scrubber(&to("api.test:443"), Channel::Tls).unwrap());
    let cover = &stand_in[.."SECRET-VALUE".len()];
    let (long, covered) = ("x".repeat(300) + "SECRET-VALUE", "x".repeat(300) + cover);
    let said = frames(&[
        (0x81, "a SECRET-VALUE b"),
        (0x01, "a SECR"),
        (0x89, "ping SECRET-VALUE"),
        (0x00, ""),
        (0x00, "ET-VA"),
        (0x80, "LUE b SECR"),
        (0x82, "ET-VALUE"),
        (0x82, &long),
        (0x88, "bye"),
    ]);
    let expected = frames(&[
        (0x81, &format!("a {cover} b")),
        (0x01, &format!("a {}", &cover[..4])),
        (0x89, &format!("ping {cover}")),
        (0x00, ""),
        (0x00, &cover[4..9]),
        (0x80, &format!("{} b SECR", &cover[9..])),
        // Another message: nobody reads both as one.
        (0x82, "ET-VALUE"),
        (0x82, &covered),
        (0x88, "bye"),
    ]);
    for size in [1, 2, 3, 7, 50, said.len()] {
        let mut frames = scrubber();
        let mut heard: Vec<u8> = said.chunks(size).flat_map(|piece| frames.push(piece).unwrap()).collect();
        assert!(heard == expected, "{size}: {}", String::from_utf8_lossy(&heard));
        heard.extend(frames.finish());
        assert_eq!(heard, expected);
    }
    // The end of a message does not wait for the next one.
    let mut frames = scrubber();
    let whole = frames.push(&self::frames(&[(0x81, "a SECR")])).unwrap();
    assert_eq!(&whole[2..], b"a SECR");
    // What is packed, masked or no frame at all.
    for first in [[0xc1, 0x01], [0x81, 0x81], [0x83, 0x01], [0x09, 0x01], [0x89, 0x7e]] {
        assert!(scrubber().push(&[&first[..], &[0, 1, 0]].concat()).is_err(), "{first:x?}");
    }
}
