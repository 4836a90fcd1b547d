//! Finding the secret parts of a value.

use super::CredentialError;
use regex::bytes::Regex;
use std::ops::Range;
use stockade_policy::{CredentialPlan, CredentialSource};

/// What looks like a JSON web token inside other text, with the further parts of one that is encrypted.
const TOKEN: &str = r"eyJ[A-Za-z0-9_-]*=*\.[A-Za-z0-9_-]*=*\.[A-Za-z0-9_-]*=*(?:\.[A-Za-z0-9_-]+=*)*";

/// What may stand before a token where a request names it.
const SCHEMES: [&[u8]; 6] = [b"bearer", b"token", b"jwt", b"dpop", b"gnap", b"pop"];

/// Where the secret parts are, in order and without overlap.
pub(super) fn secret_parts(
    name: &str,
    credential: &CredentialPlan,
    value: &[u8],
) -> Result<Vec<Range<usize>>, CredentialError> {
    let mut found = found(name, credential, value)?;
    if credential.jwt_claims.is_some() {
        for part in &mut found {
            part.start += scheme(&value[part.clone()]);
        }
    }
    Ok(found)
}

fn found(
    name: &str,
    credential: &CredentialPlan,
    value: &[u8],
) -> Result<Vec<Range<usize>>, CredentialError> {
    let in_file = matches!(credential.source, CredentialSource::File(_));
    let expression = match &credential.extract {
        Some(expression) => expression,
        None if credential.jwt_claims.is_some() && in_file => TOKEN,
        None => return Ok(whole(value)),
    };
    let compiled = Regex::new(expression).map_err(|source| CredentialError::Expression {
        name: name.to_owned(),
        source: Box::new(source),
        rule: Box::new(credential.rule.clone()),
    })?;
    let group = usize::from(credential.extract.is_some());
    let matches = compiled.captures_iter(value).filter_map(|found| found.get(group));
    let found: Vec<_> = matches.map(|part| part.range()).filter(|part| !part.is_empty()).collect();
    // A file that is said to hold a token and holds nothing like one is a secret all the same.
    Ok(if found.is_empty() && credential.extract.is_none() { whole(value) } else { found })
}

/// All of it: what surrounds a value in a file is no part of what is sent.
fn whole(value: &[u8]) -> Vec<Range<usize>> {
    let start = value.len() - value.trim_ascii_start().len();
    let whole = start..start + value.trim_ascii().len();
    if whole.is_empty() { Vec::new() } else { vec![whole] }
}

/// The length of the word before a token that says how it is used, with the space behind it. The token is the secret,
/// and comes back alone.
fn scheme(value: &[u8]) -> usize {
    let Some(end) = value.iter().position(u8::is_ascii_whitespace) else { return 0 };
    let token = value[end..].trim_ascii_start();
    let is_token =
        token.iter().filter(|byte| **byte == b'.').count() >= 2 && !token.iter().any(u8::is_ascii_whitespace);
    let is_scheme = SCHEMES.iter().any(|known| value[..end].eq_ignore_ascii_case(known));
    if is_token && is_scheme { value.len() - token.len() } else { 0 }
}

/// The other places of a text in a value, outside of `taken`.
pub(super) fn other_places(value: &[u8], text: &[u8], taken: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at + text.len() <= value.len() {
        let here = at..at + text.len();
        let free = || taken.iter().all(|part| part.end <= here.start || here.end <= part.start);
        if value[here.clone()] == *text && free() {
            at = here.end;
            found.push(here);
        } else {
            at += 1;
        }
    }
    found
}
