//! Telling HTTP from other protocols by what a client says first.

/// Whether the first bytes of a stream are an HTTP request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// Some other protocol.
    No,
    /// Too little to tell.
    NeedMore,
    /// HTTP, or so near to it that a forgiving server would take it for HTTP.
    Yes,
}

/// Bytes of a method.
pub(super) const LONGEST_METHOD: usize = 64;
/// A request line that has not ended by then ends in the parser's refusal.
const LONGEST_LINE: usize = 8 * 1024;
const COMMON: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"];

/// Whether the first bytes of a stream are an HTTP request.
///
/// Errs towards yes: what is taken for HTTP meets a strict parser, what is not is carried unseen, and a
/// server may be more forgiving than that parser.
pub(crate) fn looks_like_http(first: &[u8]) -> Likeness {
    // Forgiving servers skip empty lines and spaces before a request.
    let Some(start) = first.iter().position(|byte| !matches!(byte, b'\r' | b'\n' | b' ' | b'\t')) else {
        return if first.len() > LONGEST_METHOD { Likeness::No } else { Likeness::NeedMore };
    };
    let first = &first[start..];
    let Some(end) = first.iter().position(|byte| !is_token(*byte)) else {
        return if first.len() > LONGEST_METHOD { Likeness::No } else { Likeness::NeedMore };
    };
    if end == 0 || end > LONGEST_METHOD || !matches!(first[end], b' ' | b'\t') {
        return Likeness::No;
    }
    let (method, rest) = (&first[..end], first[end..].trim_ascii_start());
    let common = COMMON.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(method));
    if common && (rest.starts_with(b"/") || starts_like(rest, b"http://") || starts_like(rest, b"https://")) {
        return Likeness::Yes;
    }
    match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) if names_version(&rest[..end]) => Likeness::Yes,
        Some(_) => Likeness::No,
        None if names_version(rest) || rest.len() > LONGEST_LINE => Likeness::Yes,
        None => Likeness::NeedMore,
    }
}

fn starts_like(bytes: &[u8], prefix: &[u8]) -> bool {
    bytes.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn names_version(line: &[u8]) -> bool {
    line.windows(5).any(|window| window.eq_ignore_ascii_case(b"HTTP/"))
}

/// A character of a method or header name.
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::{Likeness, looks_like_http};

    #[test]
    fn requests_are_known() {
        for first in [
            "GET / HTTP/1.1\r\n",
            "GET /a",
            "get /a",
            "POST http://a.test/ HTTP/1.1",
            "OPTIONS * HTTP/1.1\r\n",
            "PURGE /x HTTP/1.1\r\n",
            "FOO  x  hTTp/1.1\r\n",
            "\r\n\r\nGET /x",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "GET /only-a-path\r\n",
            "CONNECT a.test:443 HTTP/1.1\r\n",
        ] {
            assert_eq!(looks_like_http(first.as_bytes()), Likeness::Yes, "{first:?}");
        }
    }

    #[test]
    fn other_protocols_are_not() {
        for first in [
            &b"\x16\x03\x01\x02\x00"[..],
            b"SSH-2.0-OpenSSH_9.2p1\r\n",
            b"EHLO client.test\r\n",
            b"*1\r\n$4\r\nPING\r\n",
            b"GET key\r\n",
            b"\0\0\0\x08\x04\xd2\x16\x2f",
            b"USER anonymous\r\n",
        ] {
            assert_eq!(looks_like_http(first), Likeness::No, "{first:?}");
        }
    }

    #[test]
    fn beginnings_wait() {
        for first in ["", "G", "GET", "GET ", "GET h", "FOO /x", "\r\n", "EHLO clien"] {
            assert_eq!(looks_like_http(first.as_bytes()), Likeness::NeedMore, "{first:?}");
        }
        let endless = [b"FOO /".as_slice(), &[b'a'; 10_000]].concat();
        assert_eq!(looks_like_http(&endless), Likeness::Yes);
    }
}
