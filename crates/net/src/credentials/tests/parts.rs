//! Parts of real values that come back, and answers that come in pieces.

use super::answers::scrubbed;
use super::*;
use bytes::Bytes;
use proptest::prelude::*;
use std::future::poll_fn;
use std::sync::LazyLock;
use std::time::Duration;

const REAL: &str = "sk-SuperSecretToken0123456789abcdef";
/// Half of it.
const ENOUGH: usize = 18;

fn cover(stand_in: &str, from: usize, until: usize) -> String {
    stand_in.chars().cycle().skip(from).take(until - from).collect()
}

#[test]
fn half_of_a_value_is_covered_wherever_it_is_from() {
    let (vault, stand_in) = one(REAL, &["api.test"], Switch::Refused);
    for from in 0..REAL.len() {
        for until in from + 1..=REAL.len() {
            let text = format!("key {}... {}", &REAL[from..until], &REAL[..ENOUGH - 1]);
            let part = match until - from >= ENOUGH {
                true => cover(&stand_in, from, until),
                false => REAL[from..until].to_owned(),
            };
            let expected = format!("key {part}... {}", &REAL[..ENOUGH - 1]);
            assert_eq!(scrubbed(vault.scrubber(&to("api.test:443")), &[&text]), expected);
        }
    }
    // Beside one another they are parts of their own.
    let text = format!("{}{}", &REAL[..20], &REAL[10..]);
    let expected = cover(&stand_in, 0, 20) + &cover(&stand_in, 10, REAL.len());
    assert_eq!(scrubbed(vault.scrubber(&to("api.test:443")), &[&text]), expected);
}

/// In their escapes, in digits and encoded, too.
#[test]
fn half_of_a_value_is_covered_in_other_spellings() {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let (vault, _) = one(REAL, &["api.test"], Switch::Refused);
    for from in [0, 5, REAL.len() - ENOUGH] {
        let part = &REAL[from..from + ENOUGH];
        let escaped: String = part.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let digits: String = part.bytes().map(|byte| format!("{byte:02X}")).collect();
        let encoded = STANDARD.encode(format!("<{part}>"));
        for text in [&escaped, &digits, &encoded] {
            let heard = scrubbed(vault.scrubber(&to("api.test:443")), &[text]);
            let read = |text: &str| match text.len() == encoded.len() {
                true => STANDARD.decode(text).unwrap(),
                false => text.into(),
            };
            let (heard, said) = (read(&heard), read(text));
            assert_eq!(heard.len(), said.len());
            let same = heard.iter().zip(&said).filter(|(heard, said)| heard == said).count();
            assert!(same * 4 < said.len() * 3, "{text}: {}", String::from_utf8_lossy(&heard));
        }
    }
}

/// Of a long value the beginning of a part may be seen, and no more.
#[test]
fn parts_of_long_values_are_covered() {
    let real: String = (0..400).map(|number| format!("{:05}", number * 7919 % 99991)).collect();
    let (vault, _) = one(&real, &["api.test"], Switch::Refused);
    for from in [0, 1, 31, 500, 999] {
        let heard = scrubbed(vault.scrubber(&to("api.test:443")), &[&real[from..from + 1000]]);
        let shown = heard.bytes().zip(real[from..].bytes()).take_while(|(heard, real)| heard == real).count();
        assert!(shown <= 32, "{from}: {shown}");
        assert!(!heard[shown..].contains(&real[from + 40..from + 60]));
    }
    assert!(!scrubbed(vault.scrubber(&to("api.test:443")), &[&real]).contains(&real[..5]));
}

/// What everybody inside can read in the stand-in is no part of the secret: whoever knows half of what is looked
/// for could find out the rest.
#[test]
fn what_a_stand_in_shows_is_not_looked_for() {
    let stand_in = StandIn::mint_after("eyJhbGciOiJub25lIn0.eyJzdWIiOiJzb21lYm9keSJ9.x").unwrap();
    let real = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzb21lYm9keSJ9.SIGNATURE0123456789";
    let hosts = hosts(&["api.test"]);
    let entry = VaultEntry { name: "T".into(), real: Secret::new(real.into()), stand_in, hosts };
    let fake = entry.stand_in.as_str().to_owned();
    let vault = Vault::new(vec![entry], Vec::new(), Switch::Refused);
    let heard = |text: &str| scrubbed(vault.scrubber(&to("api.test:443")), &[text]);
    assert_eq!(heard(real), fake[..real.len()]);
    let guess = format!("{}0", &real[..real.len() - 11]);
    assert_eq!(heard(&guess), guess);
    // Claims that are hidden are covered with the whole.
    let stand_in = StandIn::mint_after("eyJhbGciOiJub25lIn0.eyJzdWIiOiJmYWtlIn0.x").unwrap();
    let hosts = self::hosts(&["api.test"]);
    let entry = VaultEntry { name: "T".into(), real: Secret::new(real.into()), stand_in, hosts };
    let vault = Vault::new(vec![entry], Vec::new(), Switch::Refused);
    let heard = scrubbed(vault.scrubber(&to("api.test:443")), &[real]);
    assert!(heard.starts_with("eyJhbGciOiJub25lIn0.eyJzdWIiOiJmYWtl") && !heard.contains("SIGN"), "{heard}");
}

/// Whoever has a server repeat guesses does not learn from what is withheld how far they are right.
#[test]
fn the_end_is_held_back_whatever_it_is() {
    let (vault, _) = one(REAL, &["api.test"], Switch::Refused);
    for length in 0..REAL.len() {
        let passed = ["x".repeat(REAL.len()).as_str(), REAL].map(|guess| {
            let mut scrubber = vault.scrubber(&to("api.test:443")).unwrap();
            scrubber.push(Bytes::from(format!("{}{}", ".".repeat(1000), &guess[..length]))).len()
        });
        assert_eq!(passed[0], passed[1], "{length}");
        assert!(passed[0] <= 1000 && passed[0] > 500);
    }
}

/// What comes slowly is not held up for long, and no sooner goes on than the rest could have come.
#[tokio::test(start_paused = true)]
async fn what_waits_goes_on_after_a_while() {
    let (vault, stand_in) = one(REAL, &["api.test"], Switch::Refused);
    let mut scrubber = vault.scrubber(&to("api.test:443")).unwrap();
    let milliseconds = |count| Duration::from_millis(count);
    for (event, covered) in [
        ("data: one\n\n".to_owned(), "data: one\n\n".to_owned()),
        (format!("{REAL}\n"), cover(&stand_in, 0, REAL.len()) + "\n"),
    ] {
        assert!(scrubber.push(Bytes::from(event)).is_empty());
        let early = tokio::time::timeout(milliseconds(70), poll_fn(|cx| scrubber.poll_ripe(cx))).await;
        assert!(early.is_err(), "{early:?}");
        let ripe = tokio::time::timeout(milliseconds(35), poll_fn(|cx| scrubber.poll_ripe(cx))).await;
        assert_eq!(ripe.unwrap(), covered);
    }
    // More that comes keeps nobody waiting for what was there before.
    scrubber.push(Bytes::from_static(b"first "));
    tokio::time::sleep(milliseconds(60)).await;
    scrubber.push(Bytes::from_static(b"second"));
    let ripe = tokio::time::timeout(milliseconds(45), poll_fn(|cx| scrubber.poll_ripe(cx))).await;
    assert_eq!(&ripe.unwrap()[..], b"first ");
    // Less than half was shown when the rest comes: it is covered.
    scrubber.push(Bytes::copy_from_slice(&REAL.as_bytes()[..10]));
    while tokio::time::timeout(milliseconds(200), poll_fn(|cx| scrubber.poll_ripe(cx))).await.is_ok() {}
    scrubber.push(Bytes::copy_from_slice(&REAL.as_bytes()[10..]));
    assert_eq!(scrubber.finish(), cover(&stand_in, 10, REAL.len()));
}

/// Something a server says: what is in no value, or a part of it in one of its spellings.
fn said() -> impl Strategy<Value = (String, bool)> {
    let noise = "[ -~]{0,40}".prop_map(|text| (text, false));
    let part = (0..=REAL.len(), 0..=REAL.len(), 0..5_usize).prop_map(|(one, other, spelling)| {
        let part = &REAL[one.min(other)..one.max(other)];
        let text: String = match spelling {
            0 | 1 => part.to_owned(),
            2 => part.bytes().map(|byte| format!("%{byte:02X}")).collect(),
            3 => part.bytes().map(|byte| format!("\\u{byte:04x}")).collect(),
            _ => part.bytes().map(|byte| format!("{byte:02x}")).collect(),
        };
        (text, part.len() >= ENOUGH)
    });
    prop_oneof![noise, part]
}

proptest! {
    /// However an answer is cut into reads, no half of the value leaves, and everything else arrives unchanged.
    #[test]
    fn no_cut_shows_half_of_a_value(
        said in proptest::collection::vec(said(), 0..8),
        cuts in proptest::collection::vec(0..2000_usize, 0..12),
    ) {
        static VAULT: LazyLock<Vault> = LazyLock::new(|| one(REAL, &["api.test"], Switch::Refused).0);
        // Nothing grows together with its neighbours.
        let text: String = said.iter().map(|(text, _)| format!("{text}\t")).collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        let (mut pieces, mut from) = (Vec::new(), 0);
        for cut in cuts.into_iter().chain([text.len()]) {
            pieces.push(&text[from..cut]);
            from = cut;
        }
        let heard = scrubbed(VAULT.scrubber(&to("api.test:443")), &pieces);
        prop_assert_eq!(heard.len(), text.len());
        let mut at = 0;
        for (text, is_enough) in said {
            let heard = &heard[at..at + text.len()];
            at += text.len() + 1;
            if is_enough {
                let same = heard.bytes().zip(text.bytes()).filter(|(heard, said)| heard == said).count();
                prop_assert!(same * 4 < text.len() * 3, "{} {}", heard, text);
            } else {
                prop_assert_eq!(heard, text);
            }
        }
    }
}
