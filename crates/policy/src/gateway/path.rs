//! Paths of requests: whether they can be read in two ways, and whether a rule is about them.

/// Whether two readers of this path may see different ones.
///
/// Servers and the libraries under them disagree on empty and dot segments, on slashes, dots and backslashes
/// that are written as %2F and the like, on what is encoded twice, on parameters after a semicolon, which some
/// cut off, and on everything that is not ASCII. A rule about one reading would be passed by the other.
pub(crate) fn is_ambiguous(path: &str) -> bool {
    if path == "*" {
        return false;
    }
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'#' | b'?' | b';');
    if !path.starts_with('/') || !path.bytes().all(plain) {
        return true;
    }
    let Some(decoded) = decode(path) else { return true };
    // The first piece is before the leading slash; the last may be empty after a final one.
    let segments: Vec<&[u8]> = decoded.split(|byte| *byte == b'/').collect();
    let inner = &segments[1..segments.len() - 1];
    inner.iter().any(|segment| segment.is_empty()) || segments.iter().any(|segment| is_dots(segment))
}

/// `.` and `..`.
fn is_dots(segment: &[u8]) -> bool {
    matches!(segment, b"." | b"..")
}

/// The path with its percent signs read, if there is one way to read them.
fn decode(path: &str) -> Option<Vec<u8>> {
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'%' {
            decoded.push(*byte);
            at += 1;
            continue;
        }
        let value = hex(bytes.get(at + 1)?)? << 4 | hex(bytes.get(at + 2)?)?;
        let twice = value == b'%' && bytes.get(at + 3).and_then(hex).is_some();
        if twice || value < b' ' || matches!(value, b'/' | b'\\' | b'.' | b';' | 0x7f) {
            return None;
        }
        decoded.push(value);
        at += 3;
    }
    // Longer than needed forms of / and . are not UTF-8.
    std::str::from_utf8(&decoded).is_ok().then_some(decoded)
}

fn hex(digit: &u8) -> Option<u8> {
    char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Whether a rule's path is about this one. `*` stands for anything within a segment, `**` for any number of
/// segments; at the end for at least one, so that `/v1/**` is what lies below `/v1/`.
pub(super) fn fits(pattern: &str, path: &str) -> bool {
    let read = |text: &str| decode(text).unwrap_or_else(|| text.as_bytes().to_vec());
    let (pattern, path) = (read(pattern), read(path));
    let pattern: Vec<&[u8]> = pattern.split(|byte| *byte == b'/').collect();
    let path: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    sequence(&pattern, &path, |pattern| *pattern == b"**", |pattern, segment| wild(pattern, segment))
}

/// Whether a row of names fits a row of patterns, some of which stand for any number of names.
///
/// Only the last such pattern is ever tried anew, so that no pattern takes longer than rows × names.
fn sequence<T>(patterns: &[T], names: &[T], deep: impl Fn(&T) -> bool, one: impl Fn(&T, &T) -> bool) -> bool {
    let (mut at, mut name) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while name < names.len() {
        if at < patterns.len() && deep(&patterns[at]) {
            if at + 1 == patterns.len() {
                return true;
            }
            retry = Some((at + 1, name));
            at += 1;
        } else if at < patterns.len() && one(&patterns[at], &names[name]) {
            at += 1;
            name += 1;
        } else if let Some((after, from)) = retry {
            retry = Some((after, from + 1));
            at = after;
            name = from + 1;
        } else {
            return false;
        }
    }
    at == patterns.len()
}

/// The same within one segment, where `*` may also stand for nothing at the end.
fn wild(pattern: &[u8], text: &[u8]) -> bool {
    let trimmed = pattern.iter().rposition(|byte| *byte != b'*').map_or(0, |last| last + 1);
    let open_end = trimmed < pattern.len();
    if open_end && sequence(&pattern[..trimmed], text, |byte| *byte == b'*', |a, b| a == b) {
        return true;
    }
    sequence(pattern, text, |byte| *byte == b'*', |a, b| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_in_two_ways() {
        for path in [
            "",
            "a",
            "//",
            "/a//b",
            "//a",
            "/./a",
            "/a/.",
            "/a/..",
            "/a/../b",
            "/..",
            "/a/%2e%2e/b",
            "/a/%2E/b",
            "/a%2fb",
            "/a%2eb",
            "/a%2Fb",
            "/a%5cb",
            "/a\\b",
            "/a%00b",
            "/a\0b",
            "/a%0ab",
            "/ä",
            "/a b",
            "/a%zz",
            "/a%2",
            "/a%",
            "/%252e",
            "/%c0%af",
            "/%ff",
            "/a/..;/b",
            "/..;x=1",
            "/a?b",
            "/a#b",
            "/a\u{7f}",
            "/%7f",
            "/a;b=1",
            "/a%3bb",
        ] {
            assert!(is_ambiguous(path), "{path:?}");
        }
        for path in
            ["*", "/", "/a", "/a/", "/a/b.c", "/...", "/a..b", "/%20x", "/a%C3%A4", "/100%25", "/a:b@c"]
        {
            assert!(!is_ambiguous(path), "{path:?}");
        }
    }

    #[test]
    fn what_rules_are_about() {
        for (pattern, path, expected) in [
            ("/a", "/a", true),
            ("/a", "/a/", false),
            ("/a", "/A", false),
            ("/a", "/%61", true),
            ("/%61", "/a", true),
            ("/*", "/a", true),
            ("/*", "/", true),
            ("/*", "/a/b", false),
            ("/repos/*/issues", "/repos/x/issues", true),
            ("/repos/*/issues", "/repos/x/y/issues", false),
            ("/repos/**/issues", "/repos/x/y/issues", true),
            ("/repos/**/issues", "/repos/issues", true),
            ("/v1/**", "/v1/x/y", true),
            ("/v1/**", "/v1/", true),
            ("/v1/**", "/v1", false),
            ("/v1/**", "/v10/x", false),
            ("/**", "/", true),
            ("/**", "/a/b", true),
            ("/**/x", "/a/x/b/x", true),
            ("/**/x", "/a/x/b", false),
            ("/a*c", "/abbc", true),
            ("/a*c", "/abbcd", false),
            ("/a*b*", "/aXbX", true),
            ("/a*b*", "/ab", true),
            ("/*.git/info/refs", "/x.git/info/refs", true),
            ("/a/*", "/a/b", true),
            ("*", "*", true),
        ] {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        let pattern = format!("/{}", "*a".repeat(60));
        let path = format!("/{}b", "a".repeat(8000));
        let deep = "/**/a".repeat(60);
        let long = format!("{}/b", "/a".repeat(4000));
        assert!(!fits(&pattern, &path) && !fits(&deep, &long));
    }
}
