//! Real values that come back.

use super::*;
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
    for spelling in [REAL, "re%22al%2F%2B%26%20%5Ctok%25n", "re\\\"al/+& \\\\tok%n"] {
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
