//! The answers the gateway gives itself.

use super::flow::Body;
use super::head::BadRequest;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::ext::ReasonPhrase;
use stockade_policy::{Cause, NetRefusal, Target};

/// Bytes of a reason that fit in a status line.
const LONGEST_PHRASE: usize = 256;
const MARK: HeaderName = HeaderName::from_static("x-proxy-error");

/// An answer the gateway gives itself. After it the connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    status: StatusCode,
    /// What stands in the status line instead of the usual words.
    phrase: Option<String>,
    mark: &'static str,
    text: String,
}

impl Answer {
    /// For something that is not allowed.
    pub(super) fn refused(refusal: &NetRefusal) -> Self {
        let status = match refusal.cause {
            Cause::Mismatch => StatusCode::MISDIRECTED_REQUEST,
            Cause::Limit => StatusCode::TOO_MANY_REQUESTS,
            Cause::Grammar => StatusCode::BAD_REQUEST,
            _ => StatusCode::FORBIDDEN,
        };
        let mark = match refusal.cause {
            Cause::Address => "blocked-by-sandbox-runtime",
            _ => "blocked-by-allowlist",
        };
        let why = refusal.told.as_ref().unwrap_or(&refusal.reason);
        let mut text = format!("{} blocked by network allowlist: {why}\n", refusal.subject);
        if let Some(suggestion) = &refusal.suggestion {
            text.push_str(&format!("it would be allowed by: {suggestion}\n"));
        }
        Self { status, phrase: refusal.told.as_deref().map(phrase), mark, text }
    }

    /// For something that is not a request.
    pub(super) fn bad(wrong: BadRequest) -> Self {
        let status = match wrong {
            BadRequest::TooLong | BadRequest::TooMany => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            BadRequest::TooSlow => StatusCode::REQUEST_TIMEOUT,
            BadRequest::Crowded => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::BAD_REQUEST,
        };
        Self::plain(status, "bad-request", wrong.to_string())
    }

    /// For a server that cannot be reached.
    pub(super) fn unreachable(error: &std::io::Error, text: String) -> Self {
        match error.kind() {
            std::io::ErrorKind::TimedOut => {
                Self::plain(StatusCode::GATEWAY_TIMEOUT, "upstream-timeout", text)
            }
            _ => Self::plain(StatusCode::BAD_GATEWAY, "upstream-failed", text),
        }
    }

    /// For a server that wants to speak what nobody has asked for.
    pub(super) fn other_protocol(target: &Target) -> Self {
        let text = format!("{target} wants to speak something else than was asked for");
        Self::plain(StatusCode::BAD_GATEWAY, "upstream-failed", text)
    }

    /// Any other.
    pub(super) fn plain(status: StatusCode, mark: &'static str, text: impl Into<String>) -> Self {
        Self { status, phrase: None, mark, text: text.into() + "\n" }
    }

    /// Its status.
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// As the bytes of an HTTP/1 answer.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let phrase = self.phrase.as_deref().or(self.status.canonical_reason()).unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {} {phrase}\r\nX-Proxy-Error: {}\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.status.as_u16(),
            self.mark,
            self.text.len()
        );
        [head.as_bytes(), self.text.as_bytes()].concat()
    }

    /// As an answer with any body.
    pub(super) fn whole(self) -> Response<Body> {
        self.response().map(|body| body.map_err(|no| match no {}).boxed_unsync())
    }

    /// As an answer of the server library.
    fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.text)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(MARK, HeaderValue::from_static(self.mark));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        if let Some(phrase) = self.phrase.and_then(|phrase| ReasonPhrase::try_from(phrase.into_bytes()).ok())
        {
            response.extensions_mut().insert(phrase);
        }
        response
    }
}

/// A reason fit for a status line: one line of plain ASCII.
fn phrase(told: &str) -> String {
    let plain = told.chars().map(|letter| if matches!(letter, ' '..='~') { letter } else { ' ' });
    plain.take(LONGEST_PHRASE).collect()
}
