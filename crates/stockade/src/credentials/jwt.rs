//! JSON web tokens that can be read and tell nothing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use stockade_net::{StandIn, StandInError};

/// A token in a token's place.
pub(super) struct FakeToken {
    pub(super) token: StandIn,
    /// The claims that were hidden: their names, what is there now and what was there.
    pub(super) claims: Vec<(String, StandIn, Vec<u8>)>,
}

/// A token with the same header and the claims that are not listed; its signature is made up. Nothing when
/// this is no token, or claims are listed and it has none of them.
pub(super) fn fake(token: &[u8], hidden: &[String]) -> Result<Option<FakeToken>, StandInError> {
    let Some((header, mut payload)) = read(token) else { return Ok(None) };
    let mut claims = Vec::new();
    for name in hidden {
        let Some(claim) = payload.get_mut(name) else { continue };
        let stand_in = StandIn::mint()?;
        let real = match claim.take() {
            Value::String(text) => text,
            other => other.to_string(),
        };
        *claim = Value::String(stand_in.as_str().to_owned());
        claims.push((name.clone(), stand_in, real.into_bytes()));
    }
    if !hidden.is_empty() && claims.is_empty() {
        return Ok(None);
    }
    let payload = URL_SAFE_NO_PAD.encode(Value::Object(payload).to_string());
    // One letter more than a stand-in: 44 letters are 33 whole bytes, which every decoder takes.
    Ok(Some(FakeToken { token: StandIn::mint_after(&format!("{header}.{payload}.x"))?, claims }))
}

/// The header as it is written, and the claims.
fn read(token: &[u8]) -> Option<(&str, Map<String, Value>)> {
    let mut parts = std::str::from_utf8(token).ok()?.split('.');
    let (header, payload, _signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    object(header)?.get("alg")?.as_str()?;
    Some((header, object(payload)?))
}

fn object(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}
