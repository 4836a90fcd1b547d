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

/// What a stream shows of a text that should be heard as `expected`: something that ends at the cut at most.
fn shown<'a>(heard: &'a str, expected: &str, cut: usize) -> &'a str {
    assert_eq!(heard.len(), expected.len());
    assert_eq!(&heard[cut..], &expected[cut..], "what follows the cut is covered");
    let same = heard.bytes().zip(expected.bytes()).take_while(|(heard, expected)| heard == expected).count();
    &heard[same.min(cut)..cut]
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
        // Signs that some leave as they are.
        "re%22al/%2B%26%20%5Ctok%25n",
        "re%22al/+&%20%5Ctok%25n",
        "re\\\"al/+& \\\\tok%n",
        "re\\\"al\\/+& \\\\tok%n",
        "re\\\"al/+\\u0026 \\\\tok%n",
        "re\\u0022al/\\u002B\\u0026 \\\\tok%n",
        "re\\u0022al\\u002f\\u002b\\u0026\\u0020\\u005ctok\\u0025n",
        "re\\u0022al\\u002F\\u002B\\u0026\\u0020\\u005Ctok\\u0025n",
        "re\\x22al/+\\x26 \\\\tok%n",
        "re\\\"al/+\\&\\ \\\\tok%n",
        "re&quot;al/+&amp; \\tok%n",
        "re&quot;al&#x2F;+&amp; \\tok%n",
        "re&#34;al&#x2f;&#043;&#38; &bsol;tok&percnt;n",
        // Every letter.
        "%72%65%22%61%6c%2f%2B%26%20%5C%74%6F%6b%25%6E",
        "&#114;&#101;&#34;&#97;&#108;&#47;&#43;&#38;&#32;&#92;&#116;&#111;&#107;&#37;&#110;",
        // One after the other as they come.
        "\\u0072e%22&#97;l\\/+&amp;+\\\\t\\x6fk%n",
    ] {
        let text = format!("<{spelling}{spelling}> {}", &spelling[..5]);
        let cover: String = stand_in.chars().cycle().take(spelling.len()).collect();
        let expected = format!("<{cover}{cover}> {}", &spelling[..5]);
        assert_eq!(scrubbed(scrubber(), &[&text]), expected);
        for cut in 0..text.len() {
            let (first, rest) = text.split_at(cut);
            let heard = scrubbed(scrubber(), &[first, rest]);
            let shown = shown(&heard, &expected, cut);
            assert!(shown.is_empty() || spelling.starts_with(shown), "{shown}");
            let left = &spelling[shown.len()..];
            assert!(["o", "%6F", "&#111;", "x6f"].iter().any(|letter| left.contains(letter)), "{shown}");
        }
    }
}

#[test]
fn real_values_are_covered_in_hexadecimal() {
    let (vault, _) = one("SECRET-VALUE", &["api.test"], Switch::Refused);
    let digits: Vec<String> = "SECRET-VALUE".bytes().map(|byte| format!("{byte:02x}")).collect();
    for between in ["", ":", " ", "-"] {
        for text in [digits.join(between), digits.join(between).to_uppercase()] {
            let heard = scrubbed(vault.scrubber(&to("api.test:443"), Channel::Tls), &[&format!("<{text}>")]);
            let cover: Vec<String> = "fake_value_".bytes().map(|byte| format!("{byte:02x}")).collect();
            let start = format!("<{}", cover[..5].concat());
            let plain: String = heard.chars().filter(|letter| !between.contains(*letter)).collect();
            assert!(plain.starts_with(&start) && heard.len() == text.len() + 2, "{heard}");
            assert!(!heard.contains(&text[text.len() / 2..]), "{heard}");
        }
    }
}

/// Whoever has a server repeat guesses does not learn from what is withheld how far they are right.
#[test]
fn beginnings_are_not_withheld_and_the_rest_is_covered() {
    let real = "SECRET-VALUE-OF-24-BYTES";
    let (vault, stand_in) = one(real, &["api.test"], Switch::Refused);
    for length in 1..real.len() {
        for rest in [&real[length..], "something else"] {
            let mut scrubber = vault.scrubber(&to("api.test:443"), Channel::Tls).unwrap();
            let (first, second) = (format!("data: {}", &real[..length]), format!("{rest}."));
            let at_once = scrubber.push(Bytes::from(first.clone()));
            let is_held = length >= 12;
            assert_eq!(at_once.len(), first.len() - if is_held { length } else { 0 }, "{length}");
            let then = [scrubber.push(Bytes::from(second.clone())), scrubber.finish()].concat();
            let heard = String::from_utf8([&at_once[..], &then].concat()).unwrap();
            let cover: String = stand_in.chars().cycle().take(real.len()).collect();
            let expected = match (is_held, second.starts_with("some")) {
                (_, true) => first + &second,
                (true, false) => format!("data: {cover}."),
                (false, false) => format!("{first}{}.", &cover[length..]),
            };
            assert_eq!(heard, expected);
        }
    }
    // Letter by letter no more is shown.
    let letters: Vec<&str> = real.split("").collect();
    let heard = scrubbed(vault.scrubber(&to("api.test:443"), Channel::Tls), &letters);
    assert!(heard.starts_with(&real[..11]) && heard[11..] == stand_in[11..real.len()], "{heard}");
}

/// Values may be in one another, begin alike, and say the same again and again.
#[test]
fn values_that_look_alike_are_covered() {
    let reals = ["SECRET-1", "SECRET-1-AND-MORE", "aaaaaaaa", "\\\\\\\\\\\\\\\\\\\\\\\\", "%25%25%25%25"];
    let entries: Vec<VaultEntry> = reals.iter().map(|real| entry(real, real, &["api.test"])).collect();
    let vault = Vault::new(entries, Vec::new(), Switch::Refused);
    for (text, hidden) in [
        ("SECRET-1-AND-MORE", "SECRET"),
        ("SECRET-1-AND-LESS", "SECRET"),
        ("SECRET-SECRET-1-AND-SECRET-1", "SECRET-1"),
        (&"a".repeat(1000), "a".repeat(8).as_str()),
        (&"\\".repeat(2000), "\\"),
        ("%25%25%25%25", "%25%25"),
    ] {
        let heard = scrubbed(vault.scrubber(&to("api.test:443"), Channel::Tls), &[text]);
        assert!(heard.len() == text.len() && !heard.contains(hidden), "{heard}");
    }
}

/// A whole document may be encoded, in which the value is escaped.
#[test]
fn real_values_are_covered_in_encoded_documents() {
    let (vault, stand_in) = one(REAL, &["api.test"], Switch::Refused);
    for inside in ["re\\\"al/+& \\\\tok%n", "re\\\"al\\/+& \\\\tok%n", "re\\\"al/+\\u0026 \\\\tok%n"] {
        let text = STANDARD.encode(format!("{{\"token\":\"{inside}\"}}"));
        let heard = scrubbed(vault.scrubber(&to("api.test:443"), Channel::Tls), &[&text]);
        let heard = String::from_utf8(STANDARD.decode(heard).unwrap()).unwrap();
        assert!(
            heard.contains(&stand_in[1..inside.len() - 1]) && heard.starts_with("{\"token\":\""),
            "{heard}"
        );
    }
}

#[test]
fn heads_are_covered() {
    let (vault, _) = one("SECRET-VALUE", &["api.test"], Switch::Refused);
    let headers = [
        ("location", "/x?key=SECRET-VALUE"),
        ("x-other", "plain"),
        ("X-SECRET-VALUE", "1"),
        ("x-secret%2dvalue-too", "1"),
        ("x-U0VDUkVULVZBTFVF", "1"),
        ("x-5345435245542d56414c5545", "1"),
    ];
    let mut head = head("GET", "/", &headers);
    vault.scrubber(&to("api.test:443"), Channel::Tls).unwrap().head(&mut head.headers);
    assert!(value(&head, "location").starts_with("/x?key=fake_value_"), "{head:?}");
    assert_eq!(value(&head, "location").len(), "/x?key=SECRET-VALUE".len());
    assert_eq!(value(&head, "x-other"), "plain");
    assert_eq!(head.headers.len(), 2, "{head:?}");
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
                    // Less than half may have passed before the cut.
                    let first = if cut == 0 || cut == encoded.len() { 1 } else { real.len() / 2 + 1 };
                    assert!(heard.contains(&stand_in[first..real.len() - 1]), "{plain}: {heard}");
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
        heard.extend(frames.finish());
        assert_eq!(heard.len(), expected.len());
        // Less than half may have passed before the rest came.
        if size == said.len() {
            assert!(heard == expected, "{}", String::from_utf8_lossy(&heard));
        }
        assert!(
            heard
                .iter()
                .zip(&said)
                .zip(&expected)
                .all(|((heard, said), covered)| [said, covered].contains(&heard))
        );
        let shown = heard.windows(3).filter(|letters| *letters == b"LUE").count();
        assert_eq!(shown, 1, "{size}: {}", String::from_utf8_lossy(&heard));
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
