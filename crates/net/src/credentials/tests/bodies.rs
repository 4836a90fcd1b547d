//! Bodies, whole and in pieces.

use super::super::needles::{After, Found, Needles};
use super::*;
use bytes::Bytes;
use proptest::prelude::*;

fn replacer(vault: &Vault, headers: &[(&str, &str)]) -> Option<Replacer> {
    let mut head = head("POST", "/", headers);
    match vault.inject(&to("api.test:443"), Channel::Tls, &mut head).unwrap().body {
        RequestBody::Replaced(replacer) => Some(replacer),
        _ => None,
    }
}

fn in_pieces(mut replacer: Replacer, body: &[u8], mut cuts: Vec<usize>) -> Vec<u8> {
    cuts.iter_mut().for_each(|cut| *cut %= body.len() + 1);
    cuts.extend([0, body.len()]);
    cuts.sort_unstable();
    let mut out = Vec::new();
    for piece in cuts.windows(2) {
        out.extend(replacer.push(Bytes::copy_from_slice(&body[piece[0]..piece[1]])));
    }
    out.extend(replacer.finish());
    out
}

#[test]
fn written_as_the_body_wants_it() {
    let (vault, stand_in) = one(REAL, &["api.test"], Switch::Refused);
    let body = format!("a={stand_in}");
    for (kind, after) in [
        ("text/plain", REAL),
        ("application/x-www-form-urlencoded", "re%22al%2F%2B%26%20%5Ctok%25n"),
        ("Application/JSON; charset=utf-8", "re\\\"al/+& \\\\tok%n"),
        ("application/vnd.api+json", "re\\\"al/+& \\\\tok%n"),
    ] {
        let replaced = whole(replacer(&vault, &[("content-type", kind)]).unwrap(), &body);
        assert_eq!(replaced, format!("a={after}"), "{kind}");
    }
    let compressed = [("content-encoding", "gzip")];
    assert!(replacer(&vault, &compressed).is_none());
    assert!(replacer(&vault, &[("content-encoding", "identity")]).is_some());
}

#[test]
fn control_characters_in_json() {
    let (vault, stand_in) = one("a\nb\u{1}", &["api.test"], Switch::Refused);
    let replacer = replacer(&vault, &[("content-type", "application/json")]).unwrap();
    assert_eq!(whole(replacer, &stand_in), "a\\u000ab\\u0001");
}

#[test]
fn nothing_is_held_back_that_cannot_be_a_stand_in() {
    let (vault, stand_in) = one("real", &["api.test"], Switch::Refused);
    let mut replacer = replacer(&vault, &[]).unwrap();
    assert_eq!(replacer.push("ping\n".into()), "ping\n");
    assert_eq!(replacer.push("fake_val".into()), "");
    assert_eq!(replacer.push("ley".into()), "fake_valley");
    let (first, rest) = stand_in.split_at(20);
    assert_eq!(replacer.push(format!("x{first}").into()), "x");
    assert_eq!(replacer.push(format!("{rest}y").into()), "realy");
    assert_eq!(replacer.push("fake".into()), "");
    assert_eq!(replacer.finish(), "fake");
}

#[test]
fn a_body_of_stand_ins_does_not_grow_without_end() {
    let (vault, stand_in) = one(&"x".repeat(100_000), &["api.test"], Switch::Refused);
    let body = stand_in.repeat(100);
    let replaced = whole(replacer(&vault, &[]).unwrap(), &body);
    assert!(replaced.len() < 2 << 20, "{}", replaced.len());
    assert!(replaced.ends_with(&stand_in));
}

/// The plainest search there is, to compare with.
fn plainest(strings: &[Vec<u8>], text: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let here = strings.iter().filter(|string| text[at..].starts_with(string));
        match here.map(Vec::len).max() {
            Some(length) => {
                found.push((at, length));
                at += length;
            }
            None => at += 1,
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn pieces_give_what_the_whole_gives(
        parts in prop::collection::vec((0..5usize, "[a-f_\\n]{0,12}", 0..43usize), 0..12),
        cuts in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let entries = vec![
            entry("A", "real-a", &["api.test"]),
            entry("B", "a much longer secret than its stand-in could ever hope to be", &["api.test"]),
            entry("C", "never", &["other.test"]),
        ];
        let stand_ins: Vec<String> = entries.iter().map(|entry| entry.stand_in.as_str().to_owned()).collect();
        let reals = ["real-a", "a much longer secret than its stand-in could ever hope to be", &stand_ins[2]];
        let vault = Vault::new(entries, Vec::new(), Switch::Refused);
        let (mut body, mut expected) = (String::new(), String::new());
        for (which, text, cut) in &parts {
            match stand_ins.get(*which) {
                Some(stand_in) => {
                    body += stand_in;
                    expected += reals[*which];
                }
                // The beginning of one that never ends.
                None => {
                    body += &stand_ins[0][..*cut];
                    expected += &stand_ins[0][..*cut];
                    // What follows must not complete it.
                    body += "!";
                    expected += "!";
                }
            }
            body += text;
            expected += text;
        }
        prop_assert_eq!(&whole(replacer(&vault, &[]).unwrap(), &body), &expected);
        let pieces = in_pieces(replacer(&vault, &[]).unwrap(), body.as_bytes(), cuts);
        prop_assert_eq!(pieces, expected.into_bytes());
    }

    #[test]
    fn the_quick_search_finds_what_the_plainest_finds(
        strings in prop::collection::vec(prop::collection::vec(b'a'..b'd', 1..6), 0..5),
        text in prop::collection::vec(b'a'..b'd', 0..60),
        cut in any::<usize>(),
    ) {
        let needles = Needles::new(strings.iter().map(Vec::as_slice));
        let mut found = Vec::new();
        let mut at = 0;
        while let Found::Whole { start, length, number } = needles.find(&text, at, After::Nothing) {
            prop_assert_eq!(strings[number].len(), length);
            found.push((start, length));
            at = start + length;
        }
        prop_assert_eq!(found, plainest(&strings, &text));
        // What is held back at a cut is exactly from the first place where something begins.
        let cut = &text[..cut % (text.len() + 1)];
        if let Found::Begun { start } = needles.find(cut, 0, After::MoreMayCome) {
            let begins = |rest: &[u8]| strings.iter().any(|s| s.len() > rest.len() && s.starts_with(rest));
            prop_assert!(begins(&cut[start..]));
            prop_assert!((0..start).all(|before| !begins(&cut[before..])));
        }
    }
}
