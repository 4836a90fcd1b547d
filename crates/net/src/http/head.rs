//! Reading the head of an HTTP/1 request strictly: whatever two readers could take in two ways is refused.

use super::likeness::{LONGEST_METHOD, is_token};
use super::protocols::Protocols;
use super::wishes::Wishes;
use std::borrow::Cow;

/// Bytes of one head.
pub(super) const LONGEST_HEAD: usize = 64 * 1024;
/// Header lines of one head.
pub(super) const MOST_HEADERS: usize = 100;

/// A request that cannot be read in exactly one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadRequest {
    #[error("the head of the request is longer than {LONGEST_HEAD} bytes")]
    TooLong,
    #[error("the request has more than {MOST_HEADERS} header lines")]
    TooMany,
    #[error("the head of the request did not arrive in time")]
    TooSlow,
    #[error("too many requests of which only the beginning has come are held for this sandbox")]
    Crowded,
    #[error("not an HTTP/1 request")]
    Grammar,
    #[error("a line of the request does not end in CR LF, or one stands alone")]
    LineEnd,
    #[error("a header line of the request is folded or has a space where none may be")]
    Space,
    #[error("only HTTP/1.0 and HTTP/1.1 are understood here")]
    Version,
    #[error("the length of the request is given in more than one way")]
    Framing,
    #[error("a request that is to turn the connection into something else can have no body")]
    Body,
    #[error("the Content-Length of the request is not one number")]
    Length,
    #[error("only the transfer encoding `chunked` is understood here")]
    Encoding,
    #[error("a chunk of the request is not well formed")]
    Chunk,
    #[error("a request needs exactly one Host header")]
    Host,
    #[error("the host of the request is an address in an unusual spelling; write it like 192.0.2.7")]
    Spelling,
    #[error("the target of the request and its Host header differ")]
    Differ,
    #[error("the target of the request is not understood here")]
    Target,
    #[error("only the first request of a connection can turn it into something else")]
    Upgrade,
}

/// How the body of a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// With an empty chunk.
    Chunked,
}

/// What a request wants to turn the connection into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upgrade {
    /// Nothing.
    None,
    /// Something that is no longer HTTP.
    Opaque,
    /// Another kind of HTTP, in which further requests could hide.
    Http,
}

/// A request head that can be read in one way only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Bytes of the head, the empty line included.
    pub(super) length: usize,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) host: Option<Vec<u8>>,
    pub(super) framing: Framing,
    pub(super) upgrade: Upgrade,
    /// The protocols it names for that.
    pub(super) protocols: Protocols,
    pub(super) wishes: Wishes,
}

impl Head {
    /// Reads one head; `None` when it is not there in full.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, BadRequest> {
        let Some(length) = end_of_head(bytes)? else {
            return match bytes.len() > LONGEST_HEAD {
                true => Err(BadRequest::TooLong),
                false => Ok(None),
            };
        };
        if length > LONGEST_HEAD {
            return Err(BadRequest::TooLong);
        }
        let mut lines = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut lines);
        match request.parse(&bytes[..length]) {
            Ok(httparse::Status::Complete(read)) if read == length => {}
            Ok(_) => return Err(BadRequest::Grammar),
            Err(httparse::Error::TooManyHeaders) => return Err(BadRequest::TooMany),
            Err(httparse::Error::HeaderName) => return Err(BadRequest::Space),
            Err(httparse::Error::Version) => return Err(BadRequest::Version),
            Err(_) => return Err(BadRequest::Grammar),
        }
        let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version)
        else {
            return Err(BadRequest::Grammar);
        };
        if method.len() > LONGEST_METHOD {
            return Err(BadRequest::Grammar);
        }
        // A fragment is for the client alone: some readers cut it off, others take it for a part of the path.
        if target.contains('#') {
            return Err(BadRequest::Target);
        }
        let (mut host, mut length_line, mut encoding) = (None, None, None);
        let (mut upgrade, mut wishes) = (Upgrade::None, Wishes::default());
        let mut protocols = Protocols::default();
        for line in request.headers.iter() {
            let name = line.name;
            wishes.add(name, line.value);
            if name.eq_ignore_ascii_case("host") {
                once(&mut host, line.value, BadRequest::Host)?;
            } else if name.eq_ignore_ascii_case("content-length") {
                once(&mut length_line, line.value, BadRequest::Length)?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                once(&mut encoding, line.value, BadRequest::Encoding)?;
            } else if name.eq_ignore_ascii_case("upgrade") {
                upgrade = upgrade.and(upgrade_of(line.value));
                protocols.add(line.value);
            }
        }
        let framing = framing(minor, length_line, encoding)?;
        Ok(Some(Self {
            length,
            method: method.to_owned(),
            target: target.to_owned(),
            host: host.map(<[u8]>::to_vec),
            framing,
            upgrade,
            protocols,
            wishes,
        }))
    }
}

fn once<'a>(slot: &mut Option<&'a [u8]>, value: &'a [u8], otherwise: BadRequest) -> Result<(), BadRequest> {
    match slot.replace(value) {
        Some(_) => Err(otherwise),
        None => Ok(()),
    }
}

impl Upgrade {
    /// Both wishes at once.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Http, _) | (_, Self::Http) => Self::Http,
            (Self::None, other) => other,
            (Self::Opaque, _) => Self::Opaque,
        }
    }
}

/// What a request asks for, as it stands in its first line, also where the head cannot be read.
pub(super) fn said(held: &[u8]) -> &[u8] {
    let line = held.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    line.split(|byte| *byte == b' ').nth(1).unwrap_or_default()
}

/// Whether a head that was not there in full when `looked` bytes were may be now. Whoever sends byte by byte
/// must not have all of them read each time.
pub(super) fn may_be_whole(held: &[u8], looked: usize) -> bool {
    held.len() > LONGEST_HEAD || held.get(looked..).is_some_and(|fresh| fresh.contains(&b'\n'))
}

/// What the value of an Upgrade header asks for.
pub(super) fn upgrade_of(value: &[u8]) -> Upgrade {
    let mut asked = Upgrade::None;
    for protocol in value.split(|byte| *byte == b',') {
        let protocol = protocol.trim_ascii().to_ascii_lowercase();
        let http = [b"h2".as_slice(), b"h3", b"http", b"tls"].iter().any(|kind| protocol.starts_with(kind));
        asked = asked.and(if http { Upgrade::Http } else { Upgrade::Opaque });
    }
    asked
}

/// The length of a head, when its empty line is there. Every line end is CR LF, and no other CR or LF is.
fn end_of_head(bytes: &[u8]) -> Result<Option<usize>, BadRequest> {
    let (mut line, mut lines) = (0, 0);
    for (at, byte) in bytes.iter().enumerate().take(LONGEST_HEAD + 1) {
        match byte {
            b'\n' if at == 0 || bytes[at - 1] != b'\r' => return Err(BadRequest::LineEnd),
            b'\n' if at == 1 => return Err(BadRequest::Grammar),
            b'\n' if at - 1 == line => return Ok(Some(at + 1)),
            // The first line is no header.
            b'\n' if lines > MOST_HEADERS => return Err(BadRequest::TooMany),
            b'\n' => (line, lines) = (at + 1, lines + 1),
            b' ' | b'\t' if at == line => return Err(BadRequest::Space),
            _ if at > 0 && bytes[at - 1] == b'\r' => return Err(BadRequest::LineEnd),
            _ => {}
        }
    }
    Ok(None)
}

fn framing(minor: u8, length: Option<&[u8]>, encoding: Option<&[u8]>) -> Result<Framing, BadRequest> {
    match (length, encoding) {
        (None, None) => Ok(Framing::Length(0)),
        (Some(_), Some(_)) => Err(BadRequest::Framing),
        (Some(digits), None) => {
            // `parse` alone would take a plus sign.
            if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
                return Err(BadRequest::Length);
            }
            let text = std::str::from_utf8(digits).map_err(|_| BadRequest::Length)?;
            text.parse().map(Framing::Length).map_err(|_| BadRequest::Length)
        }
        (None, Some(encoding)) if minor == 1 && encoding.eq_ignore_ascii_case(b"chunked") => {
            Ok(Framing::Chunked)
        }
        (None, Some(_)) => Err(BadRequest::Encoding),
    }
}

/// The head without its wish for another kind of HTTP: a server that does not see the wish just answers.
pub(super) fn without_upgrade(head: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(head.len());
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        let end = line.iter().position(|byte| !is_token(*byte)).unwrap_or(line.len());
        let name = if line.get(end) == Some(&b':') { &line[..end] } else { b"" };
        if name.eq_ignore_ascii_case(b"upgrade") || name.eq_ignore_ascii_case(b"http2-settings") {
            continue;
        }
        let line = match name.eq_ignore_ascii_case(b"connection") {
            true => Cow::Owned(without_upgrade_tokens(&line[end + 1..])),
            false => Cow::Borrowed(line),
        };
        kept.extend_from_slice(&line);
    }
    kept
}

fn without_upgrade_tokens(value: &[u8]) -> Vec<u8> {
    let tokens = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let kept = tokens.filter(|token| {
        !token.is_empty()
            && !token.eq_ignore_ascii_case(b"upgrade")
            && !token.eq_ignore_ascii_case(b"http2-settings")
    });
    let kept = kept.collect::<Vec<_>>().join(&b", "[..]);
    match kept.is_empty() {
        true => Vec::new(),
        false => [b"Connection: ", kept.as_slice(), b"\r\n"].concat(),
    }
}
