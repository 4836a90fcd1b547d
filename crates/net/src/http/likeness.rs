//! Telling HTTP from other protocols by what a client says first.

use super::hidden::is_gap;

/// Whether the first bytes of a stream are an HTTP request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// Some other protocol.
    No,
    /// Some other protocol by its first bytes; a server that skips those might yet find a request behind them.
    Hardly,
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
    if is_skipped(first[0]) {
        return behind_skipped(first);
    }
    let Some(end) = first.iter().position(|byte| !is_token(*byte)) else { return beginning(first.len()) };
    if end > 0 && end <= LONGEST_METHOD && is_odd_space(&first[end..]) {
        return behind_odd_space(first, end);
    }
    if end == 0 || !is_space(first[end]) {
        return Likeness::No;
    }
    if end > LONGEST_METHOD {
        return Likeness::Yes;
    }
    let (method, rest) = first.split_at(end);
    let rest = &rest[rest.iter().take_while(|byte| is_blank(**byte)).count()..];
    if is_common(method)
        && (rest.starts_with(b"/") || starts_like(rest, b"http://") || starts_like(rest, b"https://"))
    {
        return Likeness::Yes;
    }
    match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) if names_version(&rest[..end]) => Likeness::Yes,
        Some(_) => Likeness::No,
        None if names_version(rest) || first.len() > LONGEST_LINE => Likeness::Yes,
        None => Likeness::NeedMore,
    }
}

/// The same where a method of this length has behind it what few servers take for a space. Other protocols have
/// such bytes there, and are not kept waiting.
fn behind_odd_space(first: &[u8], method: usize) -> Likeness {
    let (method, rest) = first.split_at(method);
    let rest = &rest[rest.iter().take_while(|byte| is_gap(**byte)).count()..];
    if is_common(method) && rest.starts_with(b"/") {
        return Likeness::Yes;
    }
    match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) if ends_in_version(&rest[..end]) => Likeness::Yes,
        Some(_) => Likeness::No,
        None if ends_in_version(rest) => Likeness::Yes,
        // What goes on is watched for as long as its first line lasts.
        None if first.len() > LONGEST_LINE => Likeness::No,
        None => Likeness::Hardly,
    }
}

/// The same behind bytes that no request begins with. Other protocols do, and must not be kept waiting nor be
/// taken for requests: nothing less than a version of HTTP in the first line is one.
fn behind_skipped(first: &[u8]) -> Likeness {
    // What goes on for longer than a request line may is neither skipped nor one.
    let beginning = |length, most| if length > most { Likeness::No } else { Likeness::Hardly };
    let Some(start) = first.iter().position(|byte| !is_blank(*byte) && !is_skipped(*byte)) else {
        return beginning(first.len(), LONGEST_LINE);
    };
    if start > LONGEST_LINE {
        return Likeness::No;
    }
    let line = &first[start..];
    let Some(end) = line.iter().position(|byte| !is_token(*byte)) else {
        return beginning(line.len(), LONGEST_METHOD);
    };
    if end == 0 || end > LONGEST_METHOD || !is_space(line[end]) {
        return Likeness::No;
    }
    match line.iter().position(|byte| *byte == b'\n') {
        Some(end) if ends_in_version(&line[..end]) => Likeness::Yes,
        Some(_) => Likeness::No,
        None if ends_in_version(line) => Likeness::Yes,
        None => beginning(line.len(), LONGEST_LINE),
    }
}

/// What no request begins with, and some servers pass over.
fn is_skipped(byte: u8) -> bool {
    (byte.is_ascii_control() || !byte.is_ascii()) && !is_blank(byte)
}

/// What forgiving servers take for the space in a request line.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

/// What only some servers take for one. A line may end after its first word.
fn is_odd_space(rest: &[u8]) -> bool {
    match rest {
        [b'\r', b'\n', ..] => false,
        [byte, ..] => is_gap(*byte) && !is_space(*byte),
        [] => false,
    }
}

fn is_common(method: &[u8]) -> bool {
    COMMON.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(method))
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

/// Whether a version stands where that of a request does. Protocols are called by such names elsewhere, too: a
/// ClientHello has them behind their length.
fn ends_in_version(line: &[u8]) -> bool {
    line.windows(7)
        .any(|window| is_gap(window[0]) && starts_like(&window[1..], b"HTTP/") && window[6].is_ascii_digit())
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
    fn what_stands_for_a_space_hides_no_request() {
        for space in [&b"\x1c"[..], b"\x1f", b"\x85", b"\xa0", b"\r", b"\r\x1c "] {
            for (method, rest, likeness) in [
                ("GET", "/v", Likeness::Yes),
                ("PURGE", "/v HTTP/1.1\r\n", Likeness::Yes),
                ("PURGE", "/v\rHTTP/1", Likeness::Yes),
                ("GET", "", Likeness::Hardly),
                ("AMQP", "\0\x09\x01", Likeness::Hardly),
                ("GET", "key\r\n", Likeness::No),
            ] {
                let first = [method.as_bytes(), space, rest.as_bytes()].concat();
                assert_eq!(looks_like_http(&first), likeness, "{first:?}");
            }
        }
    }

    #[test]
    fn other_protocols_are_not() {
        for first in [
            &b"SSH-2.0-OpenSSH_9.2p1\r\n"[..],
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
    fn bytes_that_may_be_skipped_hide_no_request() {
        let behind = |junk: &[u8], text: &str| looks_like_http(&[junk, text.as_bytes()].concat());
        for junk in [&b"\0"[..], b"\xef\xbb\xbf", b"\x01\r\n\x7f ", &[0; 5000]] {
            for request in ["GET / HTTP/1.1\r\n", "\r\nPURGE x  hTTp/1.1\n", "PRI * HTTP/2"] {
                assert_eq!(behind(junk, request), Likeness::Yes, "{junk:?} {request:?}");
            }
            for beginning in ["", "G", "GET", "GET /x HTTP/", "\r\n"] {
                assert_eq!(behind(junk, beginning), Likeness::Hardly, "{junk:?} {beginning:?}");
            }
            for other in ["GET key\r\n", "/x HTTP/1.1", "user\0HTTP/", "{HTTP/1.1}", "x \x08http/1.1\n"] {
                assert_eq!(behind(junk, other), Likeness::No, "{junk:?} {other:?}");
            }
            let letters = "A".repeat(65);
            assert_eq!(behind(junk, &letters), Likeness::No);
            assert_eq!(behind(junk, &format!("{letters} / HTTP/1.1\r\n")), Likeness::No);
            assert_eq!(behind(junk, &format!("GET {}", "x".repeat(9000))), Likeness::No);
        }
        assert_eq!(looks_like_http(b"\x16\x03\x01\x02\x00"), Likeness::Hardly);
        assert_eq!(behind(&[0; 9000], ""), Likeness::No);
        assert_eq!(behind(&[0; 9000], "GET / HTTP/1.1\r\n"), Likeness::No);
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
