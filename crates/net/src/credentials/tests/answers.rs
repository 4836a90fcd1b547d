//! Real values that come back.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;

pub(super) fn scrubbed(scrubber: Option<Scrubber>, pieces: &[&str]) -> String {
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
    let scrubber = || vault.scrubber(&to("api.test:443"));
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
        // Escaped again.
        "re%2522al%252F%252B%2526%2520%255Ctok%2525n",
        "re\\\\\\\"al\\\\/+\\\\u0026 \\\\\\\\tok%n",
        // Once more, as pages write it, and the one within the other.
        "re&amp;quot;al&amp;#x2F;&amp;#43;&amp;amp; \\tok&amp;#37;n",
        "re\\&quot;al\\&#x2F;+&amp; \\\\tok%n",
        "re\\u0026quot;al\\u0026#x2F;+\\u0026amp; \\\\tok%n",
        "re\\u0026#34;al/\\u0026#43;\\u0026amp; \\\\tok%n",
        "&amp;#114;e&#38;quot;a&#x26;#108;/+\\x26amp; \\tok%n",
        "re\\042al\\057+\\u{26}\\u{020}\\134tok\\045n",
        // One after the other as they come.
        "\\u0072e%22&#97;l\\/+&amp;+\\\\t\\x6fk%n",
    ] {
        let text = format!("<{spelling}{spelling}> {}", &spelling[..5]);
        let cover: String = stand_in.chars().cycle().take(spelling.len()).collect();
        let expected = format!("<{cover}{cover}> {}", &spelling[..5]);
        assert_eq!(scrubbed(scrubber(), &[&text]), expected);
        for cut in 0..text.len() {
            let (first, rest) = text.split_at(cut);
            assert_eq!(scrubbed(scrubber(), &[first, rest]), expected, "{cut}");
        }
    }
}

#[test]
fn real_values_are_covered_in_hexadecimal() {
    let (vault, stand_in) = one("SECRET-VALUE", &["api.test"], Switch::Refused);
    let digits = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<String>>();
    for between in ["", ":", " ", "-"] {
        let real = digits("SECRET-VALUE").join(between);
        let expected = format!("<{}>", digits(&stand_in[..12]).join(between));
        for text in [format!("<{real}>"), format!("<{}>", real.to_uppercase())] {
            for cut in 0..text.len() {
                let (first, rest) = text.split_at(cut);
                assert_eq!(scrubbed(vault.scrubber(&to("api.test:443")), &[first, rest]), expected, "{cut}");
            }
        }
    }
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
        let heard = scrubbed(vault.scrubber(&to("api.test:443")), &[text]);
        assert!(heard.len() == text.len() && !heard.contains(hidden), "{heard}");
    }
}

/// A whole document may be encoded, in which the value is escaped, and broken into lines.
#[test]
fn real_values_are_covered_in_encoded_documents() {
    let (vault, _) = one(REAL, &["api.test"], Switch::Refused);
    for inside in [REAL, "re\\\"al/+& \\\\tok%n", "re\\\"al\\/+& \\\\tok%n", "re\\\"al/+\\u0026 \\\\tok%n"] {
        let text = STANDARD.encode(format!("{{\"token\":\"{inside}\",\"more\":\"0123456789\"}}"));
        for (columns, line_end) in [(99, ""), (19, "\n"), (20, "\r\n"), (21, "\\n"), (22, "\\r\\n")] {
            let lines: Vec<&[u8]> = text.as_bytes().chunks(columns).collect();
            let text = String::from_utf8(lines.join(line_end.as_bytes())).unwrap();
            let heard = scrubbed(vault.scrubber(&to("api.test:443")), &[&text]);
            let lengths = |text: &str| match line_end {
                "" => vec![text.len()],
                _ => text.split(line_end).map(str::len).collect::<Vec<usize>>(),
            };
            assert_eq!(lengths(&heard), lengths(&text), "{heard}");
            let heard = if line_end.is_empty() { heard } else { heard.replace(line_end, "") };
            let heard = STANDARD.decode(heard).unwrap();
            let (before, rest) = heard.split_at(10);
            let (covered, after) = rest.split_at(inside.len());
            assert_eq!((before, after), (&b"{\"token\":\""[..], &b"\",\"more\":\"0123456789\"}"[..]));
            let same = covered.iter().zip(inside.bytes()).filter(|(heard, real)| **heard == *real).count();
            assert!(same <= 3, "{columns} {}", String::from_utf8_lossy(covered));
        }
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
    vault.scrubber(&to("api.test:443")).unwrap().head(&mut head.headers);
    assert!(value(&head, "location").starts_with("/x?key=fake_value_"), "{head:?}");
    assert_eq!(value(&head, "location").len(), "/x?key=SECRET-VALUE".len());
    assert_eq!(value(&head, "x-other"), "plain");
    assert_eq!(head.headers.len(), 2, "{head:?}");
}

#[test]
fn only_hosts_that_may_know_are_looked_at() {
    let (vault, _) = one("SECRET-VALUE", &["api.test"], Switch::Refused);
    assert!(vault.scrubber(&to("other.test:443")).is_none());
    // What it was sent at one port it may show at another.
    for port in ["api.test:80", "api.test:8443"] {
        assert!(vault.scrubber(&to(port)).is_some(), "{port}");
    }
    let (ported, _) = one("SECRET-VALUE", &["api.test:443"], Switch::Refused);
    assert!(ported.scrubber(&to("api.test:8443")).is_some());
    let (short, _) = one("a", &["api.test"], Switch::Refused);
    let scrubber = short.scrubber(&to("api.test:443"));
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
                    let scrubber = vault.scrubber(&to("api.test:443"));
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
