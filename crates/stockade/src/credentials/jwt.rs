//! JSON web tokens that can be read and tell nothing.

use super::claims::{Members, inside, text};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};
use stockade_net::{StandIn, StandInError};

/// When a made-up token is over: never, for whoever looks. The server knows the real one.
const NEVER: i32 = i32::MAX;
/// What a made-up token is signed with, where the real one does not say so in one word.
const USUAL_ALGORITHM: &str = "HS256";
const LONGEST_ALGORITHM: usize = 16;
/// Bytes of a part that nobody finds by trying.
const SHORTEST_PIECE: usize = 16;

/// A token in a token's place.
pub(super) struct FakeToken {
    pub(super) token: StandIn,
    /// Its hidden parts, which are secrets by themselves: a server may send back no more than one of them,
    /// and a program may take one out and send it.
    pub(super) parts: Vec<Part>,
}

/// A hidden claim, or one of the parts between the dots.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) stand_in: StandIn,
    pub(super) real: Vec<u8>,
}

/// A token with the same header and the claims that are not listed; its signature is made up. Where none are
/// listed, all of it is. Nothing when this is no token, or claims are listed and it has none of them.
pub(super) fn fake(token: &[u8], hidden: &[String]) -> Result<Option<FakeToken>, StandInError> {
    let Some(token) = Token::read(token) else { return Ok(None) };
    let (header, claims, mut parts) = match hidden {
        [] => (written(&made_up_header(&token.algorithm)), made_up_claims()?, Vec::new()),
        _ => {
            let (claims, parts) = without(token.claims, &token.plain, hidden)?;
            if parts.is_empty() {
                return Ok(None);
            }
            (token.header.to_owned(), claims, parts)
        }
    };
    // A stand-in is in its claims, whichever they are.
    let payload = StandIn::of_text(written(&claims));
    // One letter more than a stand-in: 44 letters are 33 whole bytes, which every decoder takes.
    let signature = StandIn::mint_after("x")?;
    let whole = StandIn::of_text(format!("{header}.{}.{}", payload.as_str(), signature.as_str()));
    // The header is that of every token of its issuer: to cover it would spoil those that a server hands out.
    for (name, stand_in, real) in
        [("payload", payload, token.payload), ("signature", signature, token.signature)]
    {
        if !real.is_empty() {
            parts.push(Part { name: name.to_owned(), stand_in, real: real.as_bytes().to_vec() });
        }
    }
    Ok(Some(FakeToken { token: whole, parts }))
}

/// Whether a token that could be hidden stands among the words of a value that is none.
pub(super) fn is_beside(value: &[u8], hidden: &[String]) -> bool {
    // Letters that no token has are between it and whatever it is quoted or listed with.
    let of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_=.+/".contains(byte);
    let mut words = value.split(|byte| !of_token(byte)).flat_map(|word| {
        // What it is given to, too: `name=eyJ…`.
        let behind = word.windows(4).position(|start| start == b"=eyJ").map(|at| &word[at + 1..]);
        std::iter::once(word).chain(behind)
    });
    words.any(|word| matches!(fake(word, hidden), Ok(Some(_))))
}

/// What a server may send back alone of a value that is no readable token and is hidden as a whole: a token in it
/// that has other words beside it, and whatever is long enough between dots. Short parts can be guessed.
pub(super) fn pieces(value: &[u8]) -> Vec<&[u8]> {
    let mut pieces: Vec<&[u8]> = Vec::new();
    let words = value.split(u8::is_ascii_whitespace).filter(|word| word.contains(&b'.'));
    for word in words {
        let between = word.split(|byte| *byte == b'.').enumerate();
        // The padding is not always sent back.
        let parts = between.filter(|(at, part)| *at > 0 || !is_header(part)).map(|(_, part)| unpadded(part));
        for piece in std::iter::once(word).chain(parts) {
            if piece.len() >= SHORTEST_PIECE && piece != value && !pieces.contains(&piece) {
                pieces.push(piece);
            }
        }
    }
    pieces
}

/// Whether this says how a token is made, in either alphabet. It is that of every token of its issuer.
fn is_header(part: &[u8]) -> bool {
    let plain = URL_SAFE_NO_PAD.decode(unpadded(part)).or_else(|_| STANDARD_NO_PAD.decode(unpadded(part)));
    plain.is_ok_and(|plain| serde_json::from_slice::<Map<String, Value>>(&plain).is_ok())
}

fn unpadded(part: &[u8]) -> &[u8] {
    let end = part.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    &part[..end]
}

/// The claims with those that are listed made up. Of several with one name any may come back, and of a list or an
/// object any part.
fn without(
    mut claims: Map<String, Value>,
    plain: &[u8],
    hidden: &[String],
) -> Result<(Value, Vec<Part>), StandInError> {
    let members = serde_json::from_slice::<Members<'_>>(plain).map(|members| members.0).unwrap_or_default();
    let mut parts: Vec<Part> = Vec::new();
    for (name, value) in members.iter().filter(|(name, _)| hidden.contains(name)) {
        let whole = StandIn::mint()?;
        // The last one is what most programs see.
        if let Some(claim) = claims.get_mut(name) {
            *claim = Value::String(whole.as_str().to_owned());
        }
        parts.push(Part { name: name.clone(), stand_in: whole, real: text(value).into_bytes() });
        for real in inside(value) {
            if !parts.iter().any(|part| part.real == real.as_bytes()) {
                parts.push(Part { name: name.clone(), stand_in: StandIn::mint()?, real: real.into_bytes() });
            }
        }
    }
    Ok((Value::Object(claims), parts))
}

/// Claims that programs look for before they send a token.
fn made_up_claims() -> Result<Value, StandInError> {
    Ok(json!({"sub": StandIn::mint()?.as_str(), "iat": 0, "exp": NEVER}))
}

/// Nothing of the real one but the kind of signature: claims may be repeated in a header.
fn made_up_header(algorithm: &str) -> Value {
    let is_word = algorithm.len() <= LONGEST_ALGORITHM
        && algorithm.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    json!({"alg": if is_word { algorithm } else { USUAL_ALGORITHM }, "typ": "JWT"})
}

fn written(object: &Value) -> String {
    URL_SAFE_NO_PAD.encode(object.to_string())
}

/// A token as it is.
struct Token<'a> {
    header: &'a str,
    payload: &'a str,
    signature: &'a str,
    algorithm: String,
    claims: Map<String, Value>,
    /// The same as they are written.
    plain: Vec<u8>,
}

impl<'a> Token<'a> {
    fn read(token: &'a [u8]) -> Option<Self> {
        let mut parts = std::str::from_utf8(token).ok()?.split('.');
        let (header, payload, signature) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let algorithm = object(header)?.get("alg")?.as_str()?.to_owned();
        let plain = URL_SAFE_NO_PAD.decode(payload).ok()?;
        Some(Self { header, payload, signature, algorithm, claims: object(payload)?, plain })
    }
}

fn object(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}
