//! Requests that carry a signature instead of a secret.

use super::inject::RequestBody;
use super::sigv4::{self, Scope};
use super::stray::Why;
use super::vault::{Pair, Store};
use http::header::{AUTHORIZATION, HeaderName, HeaderValue, RANGE};
use http::request::Parts;
use std::fmt;
use std::sync::Arc;
use stockade_policy::{Switch, Unsignable};

/// Why a signature made with stand-ins cannot be made anew.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CannotSign {
    /// Every piece of the body is signed.
    #[error(
        "a body signed piece by piece cannot be signed anew; have the client sign the whole body, or none of it \
         (credentials.sigv4.streaming says what becomes of it)"
    )]
    Streaming,
    /// The signature is in the query.
    #[error(
        "a presigned address cannot be signed anew; have the client sign in the Authorization header \
         (credentials.sigv4.presigned says what becomes of it)"
    )]
    Presigned,
    /// Signature version 4A.
    #[error(
        "an asymmetric signature (SigV4A) cannot be made anew; have the client sign for one region \
         (credentials.sigv4.sigv4a says what becomes of it)"
    )]
    Asymmetric,
    /// Not as it should be written.
    #[error("the Authorization header of a signed request is malformed")]
    Malformed,
    /// Without a time there is no signature.
    #[error("a signed request has no X-Amz-Date header, or one of another day than its signature")]
    Date,
    /// A header that was signed is not there.
    #[error("the header {0}, which is signed, is not in the request")]
    Header(String),
    /// A signed request for a part of an answer.
    #[error(
        "a host that is sent a secret is not asked for parts of an answer; have the client fetch it whole"
    )]
    Slice,
    /// A body too long to be collected.
    #[error("a body of more than {} MiB cannot be signed anew", Signing::LONGEST_BODY >> 20)]
    TooLong,
}

impl CannotSign {
    /// Whether such a request is sent as it is.
    pub(super) fn passes(&self, unsignable: &Unsignable) -> bool {
        let switch = match self {
            Self::Streaming => unsignable.streaming,
            Self::Presigned => unsignable.presigned,
            Self::Asymmetric => unsignable.asymmetric,
            _ => Switch::Refused,
        };
        switch == Switch::Allowed
    }
}

const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const HASH: HeaderName = HeaderName::from_static("x-amz-content-sha256");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
/// What is said instead of a hash where the signature does not cover the body.
const UNSIGNED: [&str; 2] = ["UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"];

/// A signature that has to be made anew.
pub(crate) struct Signing {
    store: Arc<Store>,
    pair: usize,
    scope: String,
    /// Names of the headers that are signed, sorted.
    signed: Vec<String>,
}

impl Signing {
    /// The longest body that is collected for a signature. No service whose clients sign without saying the
    /// hash of the body takes a longer one.
    pub(crate) const LONGEST_BODY: usize = 32 << 20;

    /// The signature of a request whose key is a stand-in, as far as it is for this host.
    pub(super) fn wanted(
        store: &Arc<Store>,
        permits: &[Result<(), Why>],
        head: &Parts,
    ) -> Result<Option<Self>, CannotSign> {
        let header = head.headers.get(AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
        let query = head.uri.query().unwrap_or_default();
        for (number, pair) in store.pairs.iter().enumerate() {
            if permits[pair.key_id].is_err() {
                continue;
            }
            let key_id = store.stand_in(pair.key_id);
            if is_presigned(query, key_id) {
                return Err(CannotSign::Presigned);
            }
            let Some(rest) = std::str::from_utf8(header).ok().and_then(|text| after(text, "AWS4-")) else {
                continue;
            };
            if !rest.contains(key_id) {
                continue;
            }
            let fields = after(rest, "HMAC-SHA256 ").ok_or(CannotSign::Asymmetric)?;
            let (scope, signed) = parse(fields, key_id).ok_or(CannotSign::Malformed)?;
            if is_signed_in_pieces(head) {
                return Err(CannotSign::Streaming);
            }
            return Ok(Some(Self { store: store.clone(), pair: number, scope, signed }));
        }
        Ok(None)
    }

    /// Signs at once where the head says what the body is; otherwise the body is needed.
    pub(super) fn in_head(self, head: &mut Parts) -> Result<RequestBody, CannotSign> {
        let Some(said) = head.headers.get(HASH) else { return Ok(RequestBody::Signed(self)) };
        let said = said.to_str().map_err(|_| CannotSign::Malformed)?.trim().to_owned();
        let is_hash = said.len() == 64 && said.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash && !UNSIGNED.contains(&said.as_str()) {
            return Err(CannotSign::Malformed);
        }
        self.write(&said, head)?;
        Ok(RequestBody::Untouched)
    }

    /// Signs with the whole body.
    pub(crate) fn sign(self, body: &[u8], head: &mut Parts) -> Result<(), CannotSign> {
        if body.len() > Self::LONGEST_BODY {
            return Err(CannotSign::TooLong);
        }
        self.write(&sigv4::payload_hash(body), head)
    }

    fn write(mut self, payload: &str, head: &mut Parts) -> Result<(), CannotSign> {
        let Pair { key_id, secret, session_token } = self.store.pairs[self.pair];
        if let Some(token) = session_token {
            let mut value =
                HeaderValue::from_bytes(self.store.real(token)).map_err(|_| CannotSign::Malformed)?;
            value.set_sensitive(true);
            head.headers.insert(TOKEN, value);
            if !self.signed.iter().any(|name| name == TOKEN.as_str()) {
                self.signed.push(TOKEN.as_str().to_owned());
                self.signed.sort();
            }
        }
        let scope = Scope::parse(&self.scope).ok_or(CannotSign::Malformed)?;
        let time = head.headers.get(DATE).and_then(|value| value.to_str().ok()).ok_or(CannotSign::Date)?;
        if !time.starts_with(scope.day) {
            return Err(CannotSign::Date);
        }
        let canonical =
            sigv4::canonical_request(head, &self.signed, payload, scope.service).map_err(|name| {
                if name == RANGE.as_str() { CannotSign::Slice } else { CannotSign::Header(name) }
            })?;
        let signature = sigv4::signature(self.store.real(secret), time, &scope, &canonical);
        let mut value = b"AWS4-HMAC-SHA256 Credential=".to_vec();
        value.extend_from_slice(self.store.real(key_id));
        value.extend_from_slice(
            format!("/{}, SignedHeaders={}, Signature={signature}", self.scope, self.signed.join(";"))
                .as_bytes(),
        );
        let mut value = HeaderValue::from_bytes(&value).map_err(|_| CannotSign::Malformed)?;
        value.set_sensitive(true);
        head.headers.insert(AUTHORIZATION, value);
        Ok(())
    }
}

/// What follows the scheme of a signature, which may be written in any case.
fn after<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Whether a query is signed with this key. Names may be escaped like values, and are to the server the same.
fn is_presigned(query: &str, key_id: &str) -> bool {
    let plain = |text: &str| sigv4::decoded(text).to_ascii_lowercase();
    let key_id = key_id.to_ascii_lowercase();
    query.split(['&', ';']).filter_map(|part| part.split_once('=')).any(|(name, value)| {
        plain(name) == b"x-amz-credential" && plain(value).starts_with(key_id.as_bytes())
    })
}

/// Whether the signature covers every piece of the body.
fn is_signed_in_pieces(head: &Parts) -> bool {
    let said = head.headers.get(HASH).and_then(|said| said.to_str().ok()).unwrap_or_default().trim();
    said.starts_with("STREAMING-") && !UNSIGNED.contains(&said)
}

/// Scope and signed headers of `Credential=…, SignedHeaders=…, Signature=…`.
fn parse(fields: &str, key_id: &str) -> Option<(String, Vec<String>)> {
    let field = |wanted: &str| {
        let mut fields = fields.split(',').filter_map(|field| field.trim().split_once('='));
        fields.find(|(name, _)| *name == wanted).map(|(_, value)| value)
    };
    let scope = field("Credential")?.strip_prefix(key_id)?.strip_prefix('/')?;
    Scope::parse(scope)?;
    field("Signature")?;
    let mut signed: Vec<String> = field("SignedHeaders")?.split(';').map(str::to_ascii_lowercase).collect();
    let names = signed.iter().all(|name| HeaderName::from_bytes(name.as_bytes()).is_ok());
    signed.sort();
    signed.dedup();
    (names && signed.iter().any(|name| name == "host")).then(|| (scope.to_owned(), signed))
}

impl fmt::Debug for Signing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Signing")
    }
}
