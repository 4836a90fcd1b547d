//! The ways in which a real value may come back, as far as they can be known beforehand.

use super::place::Place;
use super::vault::Kept;
use super::watch::{Course, Value, Watch, Written, half};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// Shorter values are in answers by chance, and are no secrets.
const SHORTEST: usize = 6;

/// The spellings real values may come back in.
pub(super) struct Spellings {
    /// Wherever text is.
    pub(super) watch: Watch,
    /// In the names of headers, which have no capital letters any more.
    in_names: Watch,
}

impl Spellings {
    pub(super) fn of(entries: &[Kept]) -> Self {
        let (mut all, mut in_names) = (Vec::new(), Vec::new());
        for kept in entries {
            let (real, stand_in) = (kept.entry.real.reveal(), kept.entry.stand_in.as_str().as_bytes());
            let unknown = unknown(real, stand_in).into_iter().filter(|part| part.real.len() >= SHORTEST);
            for value in unknown.flat_map(|part| written(&part)) {
                let is_same = |known: &Value| known.written == value.written && known.text == value.text;
                if !all.iter().any(is_same) {
                    in_names.push(Value { text: small(&value), cover: Vec::new(), ..value });
                    all.push(value);
                }
            }
        }
        Self { watch: Watch::new(all), in_names: Watch::new(in_names) }
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

/// A part of a value, and what stands for it.
struct Part<'a> {
    real: &'a [u8],
    stand_in: &'a [u8],
    /// How many of so many letters are as good as all.
    enough: fn(usize) -> usize,
}

/// What of a value cannot be read in its stand-in. The rest everybody inside knows, and whoever knows half of
/// what is looked for can find out more of it.
fn unknown<'a>(real: &'a [u8], stand_in: &'a [u8]) -> Vec<Part<'a>> {
    if let (Some(token), Some(fake)) = (token(real), token(stand_in))
        && token[0] == fake[0]
        && token[2].len() >= SHORTEST
    {
        let signature = Part { real: token[2], stand_in: fake[2], enough: half };
        // Hidden claims are values of their own, but for short ones.
        let claims = Part { real: token[1], stand_in: fake[1], enough: |length| length };
        return std::iter::once(signature).chain((token[1] != fake[1]).then_some(claims)).collect();
    }
    let alike = real.iter().zip(stand_in).take_while(|(real, other)| real == other).count();
    let known = if alike < stand_in.len() && alike + SHORTEST <= real.len() { alike } else { 0 };
    vec![Part { real: &real[known..], stand_in: &stand_in[known..], enough: half }]
}

/// The three parts of a JSON web token.
fn token(text: &[u8]) -> Option<[&[u8]; 3]> {
    let mut parts = text.split(|byte| *byte == b'.');
    let token = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(token)
}

/// All ways of writing one part.
fn written(Part { real, stand_in, enough }: &Part<'_>) -> Vec<Value> {
    let digits = stand_in.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
    let mut all = vec![
        Value::new(real, Written::Freely, stand_in.to_vec(), enough(real.len())),
        Value::new(real, Written::InHexadecimal, digits, enough(real.len())),
    ];
    all.extend(in_base64(real, stand_in, enough(real.len())));
    for escaped in in_json(real) {
        all.extend(in_base64(&escaped, stand_in, enough(escaped.len())));
    }
    all
}

/// As it stands in documents that are encoded whole.
fn in_json(real: &[u8]) -> [Zeroizing<Vec<u8>>; 3] {
    let mut plain = Zeroizing::new(Vec::new());
    Place::Json.write(real, &mut plain);
    let with = |escape: fn(u8) -> Option<&'static [u8]>| {
        let mut text = Zeroizing::new(Vec::new());
        for byte in plain.iter() {
            text.extend_from_slice(escape(*byte).unwrap_or(&[*byte]));
        }
        text
    };
    let slashes = with(|byte| (byte == b'/').then_some(b"\\/"));
    let for_pages = with(|byte| match byte {
        b'<' => Some(b"\\u003c"),
        b'>' => Some(b"\\u003e"),
        b'&' => Some(b"\\u0026"),
        _ => None,
    });
    [plain, slashes, for_pages]
}

/// Base64, wherever in an encoded text the value begins. Letters that depend on what stands beside the value
/// are not known: up to four bits of its first byte and of its last are told.
fn in_base64(real: &[u8], stand_in: &[u8], enough: usize) -> Vec<Value> {
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
            // Without what depends on its neighbours.
            let enough = (enough * 8 / 6).saturating_sub(2);
            all.push(Value::new(&text, Written::InLines, encoded(&cover), enough));
        }
    }
    all
}
