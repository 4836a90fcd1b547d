//! Answers that come in pieces, and pieces of real values.

use super::answers::scrubbed;
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use proptest::prelude::*;
use std::sync::LazyLock;

const REAL: &str = "sk-SuperSecretToken0123456789abcdef";
/// Another as long, of other letters.
const OTHER: &str = "QWZXYVJHNQWZXYVJHNQWZXYVJHNQWZXYVJH";

/// What is covered tells which guesses are right: so nothing is that one could guess bit by bit.
#[test]
fn parts_of_values_are_not_covered() {
    for real in [REAL, "493817", "0123456789abcdef0123"] {
        let (vault, _) = one(real, &["api.test"], Switch::Refused);
        for from in 0..real.len() {
            for until in from + 1..=real.len() {
                let part = &real[from..until];
                if part == real {
                    continue;
                }
                let digits: String = part.bytes().map(|byte| format!("{byte:02x}")).collect();
                let encoded = STANDARD.encode(part);
                let text = format!("key {part}#{}. {digits}, {}", &part[1..], &encoded[..encoded.len() - 4]);
                assert_eq!(scrubbed(vault.scrubber(&to("api.test:443")), &[&text]), text);
            }
        }
    }
}

/// Pieces of an encoded value are parts, too, down to what depends on its neighbours.
#[test]
fn encoded_parts_of_short_values_are_not_covered() {
    let (vault, _) = one("493817", &["api.test"], Switch::Refused);
    let guesses: String = (0..10_000).map(|number| STANDARD.encode(format!("{number:04}")) + " ").collect();
    let guesses = guesses.replace('=', "");
    assert_eq!(scrubbed(vault.scrubber(&to("api.test:443")), &[&guesses]), guesses);
}

#[test]
fn tokens_are_covered_whole() {
    let real = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SIGNATURE-0123456789";
    let stand_in = StandIn::mint_after("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.").unwrap();
    let hosts = self::hosts(&["api.test"]);
    let entry = VaultEntry { name: "T".into(), real: Secret::new(real.into()), stand_in, hosts };
    let fake = entry.stand_in.as_str().to_owned();
    let vault = Vault::new(vec![entry], Vec::new(), Switch::Refused);
    let heard = |text: &str| scrubbed(vault.scrubber(&to("api.test:443")), &[text]);
    assert_eq!(heard(real), fake[..real.len()]);
    assert_eq!(heard(&real[..real.len() - 1]), real[..real.len() - 1]);
}

/// Parts that are secrets by themselves are covered alone and within the whole, and go out either way.
#[test]
fn parts_with_stand_ins_of_their_own_are_covered_alone() {
    let (header, payload, signature) = ("eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiJhbm4ifQ", "SIGNATURE-0123456789");
    let entries: Vec<VaultEntry> = [payload, signature].map(|part| entry("T", part, &["api.test"])).into();
    let [fake_payload, fake_signature] = [0, 1].map(|at: usize| entries[at].stand_in.as_str().to_owned());
    let stand_in = StandIn::of_text(format!("{header}.{fake_payload}.{fake_signature}"));
    let fake = stand_in.as_str().to_owned();
    let real = format!("{header}.{payload}.{signature}");
    let whole = VaultEntry { stand_in, ..entry("T", &real, &["api.test"]) };
    let vault = Vault::new(entries.into_iter().chain([whole]).collect(), Vec::new(), Switch::Refused);
    let heard = |text: &str| scrubbed(vault.scrubber(&to("api.test:443")), &[text]);
    assert_eq!(heard(signature), fake_signature[..signature.len()]);
    assert_eq!(heard(payload), fake_payload[..payload.len()]);
    assert_eq!(heard(&real), fake[..real.len()]);
    assert_eq!(heard(header), header);
    for (said, sent) in [(&fake, &*real), (&fake_payload, payload), (&fake_signature, signature)] {
        let mut head = head("GET", "/", &[("host", "api.test"), ("x", said)]);
        vault.inject(&to("api.test:443"), Channel::Tls, &mut head).unwrap();
        assert_eq!(value(&head, "x"), sent);
    }
}

#[test]
fn hexadecimal_digits_are_covered_in_either_case() {
    for real in ["0123456789abcdef", "0123456789ABCDEF", "0123456789abCDEF"] {
        let (vault, stand_in) = one(real, &["api.test"], Switch::Refused);
        for text in [real.to_owned(), real.to_lowercase(), real.to_uppercase()] {
            assert_eq!(scrubbed(vault.scrubber(&to("api.test:443")), &[&text]), stand_in[..real.len()]);
        }
    }
    let (vault, _) = one("0123456789abcdefg", &["api.test"], Switch::Refused);
    assert_eq!(scrubbed(vault.scrubber(&to("api.test:443")), &["0123456789ABCDEFG"]), "0123456789ABCDEFG");
}

/// White space in a value, in lines of an encoded text and between digits does not end it.
#[test]
fn values_with_white_space_are_covered_however_they_are_cut() {
    let words = "correct horse\r\nbattery staple";
    let (vault, stand_in) = one(words, &["api.test"], Switch::Refused);
    for cut in 0..words.len() {
        let (first, rest) = words.split_at(cut);
        let heard = scrubbed(vault.scrubber(&to("api.test:443")), &["a b ", first, rest, " c"]);
        assert_eq!(heard, format!("a b {} c", &stand_in[..words.len()]));
    }
    let (vault, stand_in) = one(REAL, &["api.test"], Switch::Refused);
    for columns in [60, 64, 76] {
        for (before, line_end) in
            [(20, "\n"), (30, "\r\n"), (40, "\n"), (41, "\r\n"), (42, "\n"), (43, "\r\n")]
        {
            let encoded = STANDARD.encode(format!("{}{REAL}{}", "x".repeat(before), "y".repeat(60)));
            let lines: Vec<&[u8]> = encoded.as_bytes().chunks(columns).collect();
            let text = String::from_utf8(lines.join(line_end.as_bytes())).unwrap();
            let expected = scrubbed(vault.scrubber(&to("api.test:443")), &[&text]);
            let plain = STANDARD.decode(expected.replace(line_end, "")).unwrap();
            let covered = &plain[before + 1..before + REAL.len() - 1];
            assert_eq!(covered, &stand_in.as_bytes()[1..REAL.len() - 1]);
            for cut in 0..text.len() {
                let (first, rest) = text.split_at(cut);
                assert_eq!(scrubbed(vault.scrubber(&to("api.test:443")), &[first, rest]), expected, "{cut}");
            }
        }
    }
}

/// Events and lines do not wait for the next one, and the last word waits for ever.
#[test]
fn what_has_ended_goes_on_at_once() {
    let (vault, stand_in) = one(REAL, &["api.test"], Switch::Refused);
    let mut scrubber = vault.scrubber(&to("api.test:443")).unwrap();
    let mut push = |text: &str| String::from_utf8(scrubber.push(text.to_owned().into()).to_vec()).unwrap();
    for event in ["data: one\n\n", "{\"a\":\"b\"}\n", "HELLO\r\n", "one two\t"] {
        assert_eq!(push(event), event);
    }
    assert_eq!(push(&format!("data: {REAL}\n\n")), format!("data: {}\n\n", &stand_in[..REAL.len()]));
    assert_eq!(push("one two"), "one ");
    for letter in REAL.split("") {
        assert_eq!(push(letter), "");
    }
    assert_eq!(push("\n"), format!("two{}\n", &stand_in[..REAL.len()]));
}

/// Something a server says, and what is heard of it.
fn said() -> impl Strategy<Value = (String, Option<String>)> {
    let noise = "[ -~]{0,40}".prop_map(|text| (text, None));
    let lines = "([a-z0-9]{1,20}(\n|\r\n| ))*".prop_map(|text| (text, None));
    let part = (0..REAL.len(), 0..REAL.len())
        .prop_map(|(one, other)| (REAL[one.min(other)..one.max(other)].to_owned(), None));
    let whole = (0..6_usize).prop_map(|spelling| {
        let each = |letter: fn(u8) -> String| REAL.bytes().map(letter).collect::<String>();
        match spelling {
            0 | 1 => (REAL.to_owned(), Some(0)),
            2 => (each(|byte| format!("%{byte:02X}")), Some(0)),
            3 => (each(|byte| format!("\\u{byte:04x}")), Some(0)),
            4 => (each(|byte| format!("&#{byte};")), Some(0)),
            _ => (each(|byte| format!("{byte:02x} ")), Some(1)),
        }
    });
    let whole = whole.prop_map(|(text, in_digits)| {
        let fake = VAULTS.1.as_str();
        let covered: String = match in_digits {
            Some(1) => fake.bytes().cycle().take(REAL.len()).map(|byte| format!("{byte:02x} ")).collect(),
            _ => fake.chars().cycle().take(text.len()).collect(),
        };
        (text, Some(covered))
    });
    prop_oneof![noise, lines, part, whole]
}

/// Two vaults, with the stand-in of the first.
static VAULTS: LazyLock<(Vault, String, Vault)> = LazyLock::new(|| {
    let (vault, stand_in) = one(REAL, &["api.test"], Switch::Refused);
    (vault, stand_in, one(OTHER, &["api.test"], Switch::Refused).0)
});

proptest! {
    /// However an answer is cut into reads, no letter of the value leaves, everything else arrives unchanged, and
    /// when it does is the same whatever the value is.
    #[test]
    fn no_cut_shows_a_letter_of_a_value(
        said in proptest::collection::vec(said(), 0..8),
        cuts in proptest::collection::vec(0..2000_usize, 0..12),
    ) {
        // Nothing grows together with its neighbours.
        let text: String = said.iter().map(|(text, _)| format!("{text}\t")).collect();
        let expected: String = said.iter().map(|(text, covered)| covered.as_ref().unwrap_or(text).clone() + "\t").collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        let mut scrubbers = [&VAULTS.0, &VAULTS.2].map(|vault| vault.scrubber(&to("api.test:443")).unwrap());
        let (mut heard, mut from) = (Vec::new(), 0);
        for cut in cuts.into_iter().chain([text.len()]) {
            let [one, other] = scrubbers.each_mut().map(|scrubber| scrubber.push(Bytes::copy_from_slice(&text.as_bytes()[from..cut])));
            prop_assert_eq!(one.len(), other.len());
            heard.extend(one);
            from = cut;
        }
        heard.extend(scrubbers.map(Scrubber::finish)[0].iter());
        prop_assert_eq!(String::from_utf8(heard).unwrap(), expected);
    }
}
