//! The ways in which a real value may come back, as far as they can be known beforehand.

use super::needles::Needles;
use super::place::Place;
use super::vault::Kept;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// Shorter values are in answers by chance, and are no secrets.
const SHORTEST: usize = 6;

/// The spellings real values may come back in.
pub(super) struct Spellings {
    pub(super) needles: Needles,
    /// What each of them is covered with: as long, and readable in the same way.
    covers: Vec<Vec<u8>>,
}

impl Spellings {
    pub(super) fn of(entries: &[Kept]) -> Self {
        let mut all: Vec<Spelling> = Vec::new();
        for kept in entries {
            let (real, stand_in) = (kept.entry.real.reveal(), kept.entry.stand_in.as_str().as_bytes());
            if real.len() < SHORTEST {
                continue;
            }
            let plain = plainly(real).into_iter().map(|text| {
                let cover = stand_in.iter().copied().cycle().take(text.len()).collect();
                Spelling { text, cover }
            });
            for spelling in plain.chain(in_base64(real, stand_in)) {
                if !all.iter().any(|known| known.text == spelling.text) {
                    all.push(spelling);
                }
            }
        }
        let needles = Needles::new(all.iter().map(|spelling| spelling.text.as_slice()));
        Self { needles, covers: all.into_iter().map(|spelling| spelling.cover).collect() }
    }

    /// What covers the spelling with this number.
    pub(super) fn cover(&self, number: usize) -> &[u8] {
        &self.covers[number]
    }
}

struct Spelling {
    text: Zeroizing<Vec<u8>>,
    cover: Vec<u8>,
}

/// Spellings in which every letter of the value stands for itself, or for a sign of its own.
fn plainly(real: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut all = Vec::new();
    for place in [Place::Verbatim, Place::Path, Place::Query, Place::Json] {
        let mut text = Zeroizing::new(Vec::new());
        place.write(real, &mut text);
        all.push(text);
    }
    let signed = |kept: &[u8], sign: fn(u8) -> String| {
        let mut text = Zeroizing::new(Vec::new());
        for byte in real {
            match byte.is_ascii_alphanumeric() || kept.contains(byte) {
                true => text.push(*byte),
                false => text.extend_from_slice(Zeroizing::new(sign(*byte)).as_bytes()),
            }
        }
        text
    };
    let form = |byte| if byte == b' ' { "+".to_owned() } else { format!("%{byte:02X}") };
    let small_form = |byte| if byte == b' ' { "+".to_owned() } else { format!("%{byte:02x}") };
    all.push(signed(b"-._~!$&'()*+,;=:@", |byte| format!("%{byte:02x}")));
    all.push(signed(b"-._~", |byte| format!("%{byte:02x}")));
    // The same as forms are written, and with every sign escaped.
    all.push(signed(b"-._*", form));
    all.push(signed(b"-._*", small_form));
    all.push(signed(b"", |byte| format!("%{byte:02X}")));
    all.push(signed(b"", |byte| format!("%{byte:02x}")));
    if let Ok(text) = std::str::from_utf8(real) {
        all.extend(in_json(text));
        all.push(in_html(text));
    }
    all
}

/// The spellings JSON writers choose from.
fn in_json(real: &str) -> [Zeroizing<Vec<u8>>; 8] {
    let written = |as_number: fn(char) -> bool, slash: &str, upper: bool| {
        let mut text = Zeroizing::new(Vec::new());
        for letter in real.chars() {
            let short = match letter {
                _ if as_number(letter) => None,
                '"' => Some("\\\""),
                '\\' => Some("\\\\"),
                '/' => Some(slash),
                '\n' => Some("\\n"),
                '\r' => Some("\\r"),
                '\t' => Some("\\t"),
                _ => None,
            };
            match short {
                Some(short) => text.extend_from_slice(short.as_bytes()),
                None if as_number(letter) || letter < ' ' => {
                    for unit in letter.encode_utf16(&mut [0; 2]) {
                        let number = Zeroizing::new(if upper {
                            format!("\\u{unit:04X}")
                        } else {
                            format!("\\u{unit:04x}")
                        });
                        text.extend_from_slice(number.as_bytes());
                    }
                }
                None => text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        text
    };
    let foreign: fn(char) -> bool = |letter| !letter.is_ascii();
    let for_html: fn(char) -> bool = |letter| "<>&".contains(letter);
    let for_all_html: fn(char) -> bool = |letter| "<>&'=".contains(letter);
    let every_sign: fn(char) -> bool = |letter| !letter.is_ascii_alphanumeric();
    [
        written(|_| false, "/", false),
        written(|_| false, "\\/", false),
        written(foreign, "/", false),
        written(foreign, "\\/", false),
        written(for_html, "/", false),
        written(for_all_html, "/", false),
        written(every_sign, "/", false),
        written(every_sign, "/", true),
    ]
}

/// As it stands on a page that shows it.
fn in_html(real: &str) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::new());
    for letter in real.chars() {
        match letter {
            '&' => text.extend_from_slice(b"&amp;"),
            '<' => text.extend_from_slice(b"&lt;"),
            '>' => text.extend_from_slice(b"&gt;"),
            '"' => text.extend_from_slice(b"&quot;"),
            '\'' => text.extend_from_slice(b"&#39;"),
            _ => text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    text
}

/// Base64, wherever in an encoded text the value begins. Letters that depend on what stands beside the value
/// are not known: up to four bits of its first byte and of its last are told.
fn in_base64(real: &[u8], stand_in: &[u8]) -> Vec<Spelling> {
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
            all.push(Spelling { text: Zeroizing::new(encoded(&value)), cover: encoded(&cover) });
        }
    }
    all
}
