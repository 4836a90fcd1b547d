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
    // What is too long for a request is one that the parser will refuse, and nothing that may pass unseen.
    let beginning = |length| if length > LONGEST_METHOD { Likeness::Yes } else { Likeness::NeedMore };
    // Forgiving servers skip empty lines and spaces before a request.
    let Some(start) = first.iter().position(|byte| !is_blank(*byte)) else { return beginning(first.len()) };
    if start > LONGEST_METHOD {
        return Likeness::Yes;
    }
    let first = &first[start..];
    let Some(end) = first.iter().position(|byte| !is_token(*byte)) else { return beginning(first.len()) };
    if end == 0 || !is_space(first[end]) {
        return Likeness::No;
    }
    if end > LONGEST_METHOD {
        return Likeness::Yes;
    }
    let (method, rest) = first.split_at(end);
    let rest = &rest[rest.iter().take_while(|byte| is_blank(**byte)).count()..];
    let common = COMMON.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(method));
    if common && (rest.starts_with(b"/") || starts_like(rest, b"http://") || starts_like(rest, b"https://")) {
        return Likeness::Yes;
    }
    match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) if names_version(&rest[..end]) => Likeness::Yes,
        Some(_) => Likeness::No,
        None if names_version(rest) || first.len() > LONGEST_LINE => Likeness::Yes,
        None => Likeness::NeedMore,
    }
}

/// What forgiving servers take for the space in a request line.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

fn is_blank(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'\r' | b'\n')
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
            "GET\x0b/x HTTP/1.1\r\n",
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

    #[test]
    fn what_is_too_long_is_left_to_the_parser() {
        let (blanks, letters) = ("\r\n".repeat(33), "A".repeat(65));
        for first in [
            format!("{blanks}GET / HTTP/1.1\r\n"),
            blanks.clone(),
            format!("{blanks}\x01"),
            format!("{letters} / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n"),
            letters.clone(),
            format!("FOO{}", " ".repeat(10_000)),
        ] {
            assert_eq!(looks_like_http(first.as_bytes()), Likeness::Yes, "{first:?}");
        }
        assert_eq!(looks_like_http(format!("{letters}\r\n").as_bytes()), Likeness::No);
    }
}
