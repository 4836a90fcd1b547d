//! JSON with comments, read as JSON.
//!
//! Comments and trailing commas become blanks instead of being cut out, so that lines and columns in
//! error messages are those of the file.

/// The same text with comments and trailing commas blanked.
pub(crate) fn plain(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    blank(&mut out);
    // Only whole comments, bytes of ASCII and a byte-order mark were replaced.
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// Blanks comments and trailing commas. What is built in has that behind it when the program is compiled.
pub(crate) const fn blank(out: &mut [u8]) {
    if starts_with(out, 0, b"\xef\xbb\xbf") {
        fill(out, 0, 3);
    }
    let mut comma = None;
    let mut at = 0;
    while at < out.len() {
        match out[at] {
            b'"' => {
                comma = None;
                at = end_of_string(out, at);
                continue;
            }
            b'/' if starts_with(out, at, b"//") => {
                let end = find(out, at, b"\n");
                fill(out, at, end);
                at = end;
                continue;
            }
            b'/' if starts_with(out, at, b"/*") => {
                let end = find(out, at + 2, b"*/");
                // An unclosed comment stays as it is: the parser then points at its beginning.
                if end == out.len() {
                    break;
                }
                fill(out, at, end + 2);
                at = end + 2;
                continue;
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma {
                    out[comma] = b' ';
                }
                comma = None;
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
}

const fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() {
        match text[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Where some bytes stand next, or the end.
const fn find(text: &[u8], from: usize, wanted: &[u8]) -> usize {
    let mut at = from;
    while at < text.len() {
        if starts_with(text, at, wanted) {
            return at;
        }
        at += 1;
    }
    text.len()
}

const fn starts_with(text: &[u8], at: usize, wanted: &[u8]) -> bool {
    let mut read = 0;
    while read < wanted.len() {
        if at + read >= text.len() || text[at + read] != wanted[read] {
            return false;
        }
        read += 1;
    }
    true
}

/// Blanks everything but ends of lines.
const fn fill(text: &mut [u8], from: usize, to: usize) {
    let mut at = from;
    while at < to {
        if text[at] != b'\n' {
            text[at] = b' ';
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::plain;
    use serde_json::{Value, json};

    fn parse(text: &str) -> Value {
        serde_json::from_str(&plain(text)).unwrap()
    }

    #[test]
    fn comments_and_trailing_commas_vanish() {
        assert_eq!(parse("// a\n{\"a\": [1, /* b */ 2,], // c\n}"), json!({"a": [1, 2]}));
        assert_eq!(parse("\u{feff}{}"), json!({}));
        assert_eq!(parse("{\"a\": 1, /* , */ }"), json!({"a": 1}));
    }

    #[test]
    fn strings_are_left_alone() {
        assert_eq!(parse(r#"{"a": "x // y, ]", "b": "\"/*"}"#), json!({"a": "x // y, ]", "b": "\"/*"}));
    }

    #[test]
    fn lines_stay_where_they_were() {
        let text = "{\n /* two\n lines é */ \"a\": x }";
        let plain = plain(text);
        assert_eq!(plain.lines().count(), text.lines().count());
        assert_eq!(serde_json::from_str::<Value>(&plain).unwrap_err().line(), 3);
    }

    #[test]
    fn a_lone_comma_or_an_open_comment_stays_an_error() {
        for text in ["[1,,2]", "[,]x", "{} /* open", "\"open"] {
            assert!(serde_json::from_str::<Value>(&plain(text)).is_err(), "{text}");
        }
    }
}
