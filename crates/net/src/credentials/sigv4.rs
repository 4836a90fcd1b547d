//! Signature version 4 of AWS: what is signed, and how.

use super::place::percent;
use hmac::{Hmac, KeyInit, Mac};
use http::header::HOST;
use http::request::Parts;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// What a signature is bound to: `20150830/us-east-1/iam/aws4_request`.
pub(super) struct Scope<'a> {
    pub(super) day: &'a str,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
}

impl<'a> Scope<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split('/');
        let (day, region, service) = (parts.next()?, parts.next()?, parts.next()?);
        let ends = parts.next() == Some("aws4_request") && parts.next().is_none();
        let filled = ![day, region, service].contains(&"");
        (ends && filled).then_some(Self { day, region, service })
    }
}

/// Letters and digits besides which a name or value is written as it is.
const UNRESERVED: &[u8] = b"-._~";

/// The one form of a request that both sides sign; nothing when a signed header is missing.
pub(super) fn canonical_request(
    head: &Parts,
    signed: &[String],
    payload: &str,
    service: &str,
) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    out.extend_from_slice(head.method.as_str().as_bytes());
    out.push(b'\n');
    out.extend_from_slice(&canonical_path(head.uri.path(), service));
    out.push(b'\n');
    out.extend_from_slice(&canonical_query(head.uri.query().unwrap_or_default()));
    out.push(b'\n');
    for name in signed {
        out.extend_from_slice(name.as_bytes());
        out.push(b':');
        out.extend_from_slice(&header(head, name).ok_or_else(|| name.clone())?);
        out.push(b'\n');
    }
    out.push(b'\n');
    out.extend_from_slice(signed.join(";").as_bytes());
    out.push(b'\n');
    out.extend_from_slice(payload.as_bytes());
    Ok(out)
}

/// S3 takes a path as it is. Everybody else takes away what leads nowhere and encodes it once more.
fn canonical_path(path: &str, service: &str) -> Vec<u8> {
    let path = if path.is_empty() { "/" } else { path };
    if service == "s3" || service.starts_with("s3-") || service == "s3express" {
        return path.as_bytes().to_vec();
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    let mut out = Vec::new();
    for segment in &segments {
        out.push(b'/');
        percent(segment.as_bytes(), UNRESERVED, &mut out);
    }
    if out.is_empty() || path.ends_with('/') {
        out.push(b'/');
    }
    out
}

fn canonical_query(query: &str) -> Vec<u8> {
    let encoded = |text: &str| {
        let mut out = Vec::new();
        percent(&decoded(text), UNRESERVED, &mut out);
        out
    };
    let parts = query.split('&').filter(|part| !part.is_empty());
    let mut pairs: Vec<_> = parts
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(name, value)| (encoded(name), encoded(value)))
        .collect();
    pairs.sort();
    let pairs: Vec<_> = pairs.into_iter().map(|(name, value)| [name, value].join(&b'=')).collect();
    pairs.join(&b'&')
}

/// Without its escapes.
pub(super) fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.extend(u8::try_from(high * 16 + low));
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    out
}

/// A header's values, trimmed, runs of spaces made one, joined by commas.
fn header(head: &Parts, name: &str) -> Option<Vec<u8>> {
    let mut values: Vec<Vec<u8>> =
        head.headers.get_all(name).iter().map(|value| squeezed(value.as_bytes())).collect();
    if values.is_empty() && name == HOST.as_str() {
        values.extend(head.uri.authority().map(|authority| authority.as_str().as_bytes().to_vec()));
    }
    (!values.is_empty()).then(|| values.join(&b','))
}

fn squeezed(value: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = value.trim_ascii().to_vec();
    out.dedup_by(|next, before| *next == b' ' && *before == b' ');
    out
}

/// The signature itself, as it stands in a request.
pub(super) fn signature(secret: &[u8], time: &str, scope: &Scope<'_>, canonical: &[u8]) -> String {
    let Scope { day, region, service } = scope;
    let text = format!(
        "AWS4-HMAC-SHA256\n{time}\n{day}/{region}/{service}/aws4_request\n{}",
        hex(&Sha256::digest(canonical))
    );
    let mut key = Zeroizing::new([b"AWS4", secret].concat());
    for step in [*day, *region, *service, "aws4_request"] {
        key = Zeroizing::new(authenticate(&key, step.as_bytes()));
    }
    hex(&authenticate(&key, text.as_bytes()))
}

/// The hash of a body, as it is signed.
pub(super) fn payload_hash(body: &[u8]) -> String {
    hex(&Sha256::digest(body))
}

fn authenticate(key: &[u8], message: &[u8]) -> Vec<u8> {
    // A key of any length is one: the error cannot come.
    let Ok(mut code) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    code.update(message);
    code.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
