//! The ways in which a real value may come back, as far as they can be known beforehand.

use super::escapes::LONGEST;
use super::place::Place;
use super::vault::Kept;
use super::watch::{Course, Value, Watch, Written};
use super::words::Reach;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// Shorter values are in answers by chance, and are no secrets.
pub(super) const SHORTEST: usize = 6;

/// The spellings real values may come back in.
pub(super) struct Spellings {
    /// Wherever text is.
    pub(super) watch: Watch,
    /// In the names of headers, which have no capital letters any more.
    in_names: Watch,
    /// How far they may reach.
    pub(super) reach: Reach,
}

impl Spellings {
    pub(super) fn of(entries: &[Kept]) -> Self {
        let (mut all, mut in_names, mut reach) = (Vec::new(), Vec::new(), Reach::default());
        for kept in entries {
            let (real, stand_in) = (kept.entry.real.reveal(), kept.entry.stand_in.as_str().as_bytes());
            if real.len() < SHORTEST {
                continue;
            }
            // No other spelling takes as much: base64 of six bytes for a letter takes eight, and line ends.
            reach = reach.with(real, LONGEST);
            for value in in_cases(real).iter().flat_map(|real| written(real, stand_in)) {
                let is_same = |known: &Value| known.written == value.written && known.text == value.text;
                if !all.iter().any(is_same) {
                    in_names.push(Value { text: small(&value), cover: Vec::new(), ..value });
                    all.push(value);
                }
            }
        }
        Self { watch: Watch::new(all), in_names: Watch::new(in_names), reach }
    }

    /// Whether the name of a header holds a value, in whatever case.
    pub(super) fn is_in_name(&self, name: &str) -> bool {
        !self.in_names.read(&mut Course::default(), name.to_ascii_lowercase().as_bytes()).is_empty()
    }
}

/// A value as its text is in the name of a header; what stands for its bytes in digits stays.
fn small(value: &Value) -> Zeroizing<Vec<u8>> {
    match value.written {
        Written::InHexadecimal => value.text.clone(),
        Written::Freely | Written::InLines => Zeroizing::new(value.text.to_ascii_lowercase()),
    }
}

/// Numbers in hexadecimal digits are the same in either case.
fn in_cases(real: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut cases = vec![Zeroizing::new(real.to_vec())];
    if real.iter().all(u8::is_ascii_hexdigit) {
        cases.extend([real.to_ascii_lowercase(), real.to_ascii_uppercase()].map(Zeroizing::new));
    }
    cases
}

/// All ways of writing one value.
fn written(real: &[u8], stand_in: &[u8]) -> Vec<Value> {
    let text = || Zeroizing::new(real.to_vec());
    let digits = stand_in.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
    let mut all = vec![
        Value { text: text(), written: Written::Freely, cover: stand_in.to_vec() },
        Value { text: text(), written: Written::InHexadecimal, cover: digits },
    ];
    all.extend(in_base64(real, stand_in));
    for escaped in in_json(real) {
        all.extend(in_base64(&escaped, stand_in));
    }
    all
}

/// As it stands in documents that are encoded whole.
fn in_json(real: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut plain = Zeroizing::new(Vec::new());
    Place::Json.write(real, &mut plain);
    let (small, capital) = (
        in_ascii(&plain, |unit| format!("\\u{unit:04x}")),
        in_ascii(&plain, |unit| format!("\\u{unit:04X}")),
    );
    let slashes: Signs = |byte| (byte == b'/').then_some(b"\\/");
    let for_pages: Signs = |byte| match byte {
        b'<' => Some(b"\\u003c"),
        b'>' => Some(b"\\u003e"),
        b'&' => Some(b"\\u0026"),
        _ => None,
    };
    let mut all = Vec::new();
    for letters in [plain, small, capital] {
        for signs in [|_| None, slashes, for_pages] {
            let mut text = Zeroizing::new(Vec::new());
            for byte in letters.iter() {
                text.extend_from_slice(signs(*byte).unwrap_or(&[*byte]));
            }
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }
    all
}

/// How signs are escaped that need not be.
type Signs = fn(u8) -> Option<&'static [u8]>;

/// With every letter outside of ASCII in its escape.
fn in_ascii(text: &[u8], escape: fn(u16) -> String) -> Zeroizing<Vec<u8>> {
    let mut all = Zeroizing::new(Vec::new());
    for chunk in text.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match u8::try_from(letter).ok().filter(u8::is_ascii) {
                Some(byte) => all.push(byte),
                None => {
                    letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| all.extend(escape(*unit).bytes()))
                }
            }
        }
        all.extend(chunk.invalid());
    }
    all
}

/// Base64, wherever in an encoded text the value begins. Letters that depend on what stands beside the value
/// are not known: up to four bits of its first byte and of its last are told.
fn in_base64(real: &[u8], stand_in: &[u8]) -> Vec<Value> {
    let mut all = Vec::new();
    for before in 0..3 {
        let shifted = |value: &mut dyn Iterator<Item = u8>| {
            Zeroizing::new(std::iter::repeat_n(0, before).chain(value).collect::<Vec<u8>>())
        };
        let value = shifted(&mut real.iter().copied());
        let cover = shifted(&mut stand_in.iter().copied().cycle().take(real.len()));
        let sure = (before * 8).div_ceil(6)..value.len() * 8 / 6;
        for alphabet in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let encoded = |bytes: &[u8]| {
                let text = Zeroizing::new(alphabet.encode(bytes));
                text.as_bytes()[sure.clone()].to_vec()
            };
            let text = Zeroizing::new(encoded(&value));
            all.push(Value { text, written: Written::InLines, cover: encoded(&cover) });
        }
    }
    all
}
