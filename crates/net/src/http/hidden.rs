//! Looking for a request in a stream that did not begin like one.

/// How much of what a client says is looked at. Mail and the values of databases have lines like those of
/// requests as well, and come later.
const MOST: usize = 64 * 1024;

/// Looks at what a client says, piece by piece, for the first line of a request: servers differ in what they
/// skip before one, and in what they take for its spaces.
#[derive(Clone, Debug, Default)]
pub(crate) struct HiddenRequest {
    looked_at: usize,
    line: Line,
    version: Version,
}

/// What was found so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// A request.
    Request,
    /// None yet.
    NotYet,
    /// None, and whatever comes now will not be taken for one.
    Nothing,
}

/// The first line that is not empty. A request of HTTP/0.9 is one without a version, and nothing else is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Line {
    /// Nothing that can be seen.
    #[default]
    Empty,
    /// So many letters of the method.
    Method(usize),
    /// What is between the method and a path.
    Space,
    /// A path behind the method.
    Path,
    Other,
    Over,
}

/// The version that a request line ends in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Version {
    #[default]
    None,
    /// What stands before it, and so many letters of its name.
    Name(usize),
    Number,
    /// What may follow it.
    Space,
}

const METHOD: &[u8] = b"GET";
const NAME: &[u8] = b"HTTP/";

impl HiddenRequest {
    /// For a client whose server does not speak HTTP: none is looked for.
    pub(crate) fn unsought() -> Self {
        Self { looked_at: MOST, line: Line::Over, version: Version::None }
    }

    /// For a client whose server has begun like this, before it had heard anything.
    pub(crate) fn after(greeting: &[u8]) -> Self {
        if greets_like_http(greeting) { Self::default() } else { Self::unsought() }
    }

    /// Looks at what the client says next.
    pub(crate) fn look(&mut self, said: &[u8]) -> Hidden {
        for byte in said {
            if self.is_over() {
                return Hidden::Nothing;
            }
            self.looked_at += 1;
            if self.version.ends(*byte) || self.line.ends(*byte) {
                return Hidden::Request;
            }
        }
        if self.is_over() { Hidden::Nothing } else { Hidden::NotYet }
    }

    /// Not before the first line has ended: it may be as long as it likes.
    fn is_over(&self) -> bool {
        self.looked_at >= MOST && self.line == Line::Over
    }
}

impl Version {
    /// Whether this byte ends a line that ends in a version.
    fn ends(&mut self, byte: u8) -> bool {
        let ends = matches!(byte, b'\r' | b'\n');
        *self = match *self {
            Self::Number | Self::Space if ends => return true,
            Self::Number | Self::Space if is_gap(byte) => Self::Space,
            Self::Number if byte.is_ascii_digit() || byte == b'.' => Self::Number,
            Self::Name(matched) if NAME.get(matched).is_some_and(|next| byte.eq_ignore_ascii_case(next)) => {
                Self::Name(matched + 1)
            }
            Self::Name(matched) if matched == NAME.len() && byte.is_ascii_digit() => Self::Number,
            _ if is_gap(byte) => Self::Name(0),
            _ => Self::None,
        };
        false
    }
}

impl Line {
    /// Whether this byte ends a request without a version.
    fn ends(&mut self, byte: u8) -> bool {
        let seen = byte.is_ascii_graphic();
        *self = match *self {
            Self::Path if byte == b'\n' => return true,
            Self::Over => Self::Over,
            Self::Empty if !seen => Self::Empty,
            _ if byte == b'\n' => Self::Over,
            Self::Empty if byte == METHOD[0] => Self::Method(1),
            Self::Method(matched) if METHOD.get(matched) == Some(&byte) => Self::Method(matched + 1),
            Self::Method(matched) if matched == METHOD.len() && is_gap(byte) => Self::Space,
            Self::Space if is_gap(byte) => Self::Space,
            Self::Space if byte == b'/' => Self::Path,
            Self::Path => Self::Path,
            _ => Self::Other,
        };
        false
    }
}

/// Looks at what a server says first for the beginning of an answer to a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatusLine {
    matched: usize,
}

impl StatusLine {
    /// Looks at what the server says next.
    pub(crate) fn look(&mut self, said: &[u8]) -> Hidden {
        for byte in said {
            match NAME.get(self.matched) {
                Some(next) if byte.eq_ignore_ascii_case(next) => self.matched += 1,
                None if byte.is_ascii_digit() => return Hidden::Request,
                _ => return Hidden::Nothing,
            }
        }
        Hidden::NotYet
    }
}

/// Whether a server that speaks first, and begins like this, may be one of HTTP. Those do not speak first, but to say
/// that they have waited long enough, and in HTTP/2.
pub(crate) fn greets_like_http(greeting: &[u8]) -> bool {
    let length = greeting.len().min(NAME.len());
    greeting[..length].eq_ignore_ascii_case(&NAME[..length]) || greeting.starts_with(&[0])
}

/// What servers take for a space in a request line: Python's go by its notion of a text.
pub(super) fn is_gap(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | b'\r' | 0x1c..=0x1f | 0x85 | 0xa0)
}

#[cfg(test)]
mod tests {
    use super::{Hidden, HiddenRequest, StatusLine};

    fn found(said: &[u8]) -> Hidden {
        let whole = HiddenRequest::default().look(said);
        let mut piecemeal = HiddenRequest::default();
        let pieces = said.iter().map(|byte| piecemeal.look(&[*byte]));
        let last = pieces.fold(Hidden::NotYet, |last, next| if last == Hidden::NotYet { next } else { last });
        assert_eq!(last, whole, "in pieces");
        whole
    }

    #[test]
    fn requests_are_found() {
        let endless = [&[0x1c; 100_000][..], b"GET /v HTTP/1.1\r\n"].concat();
        let later = [&[b'x'; 60_000][..], b"\n\nGET /v HTTP/1.1\r\n"].concat();
        for said in [
            &b"GET\x1c/v HTTP/1.1\r\n"[..],
            b"GET\xa0/v\x85HTTP/1.1\x1f\r\n",
            b"GET\r/v HTTP/1.1\n",
            b"PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\nGET / HTTP/1.1\r\n",
            b"\r\n\r\n\0\r\nQUIT\0\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x01\0\x01\0\x02POST / HTTP/1.1\r\n",
            b"hello\r\n\r\nGET / HTTP/1.1\r\n",
            b"\"GET / HTTP/1.1\r\n",
            b"(GET / http/1.0 \n",
            b"\x1b[0mGET / HTTP/1.1\r\n",
            b"ruok\nPURGE x HTTP/01.1\n",
            b"x HTTP/1.x HTTP/1.1\n",
            // Without a version.
            b"GET\x1c/v\r\n",
            b"\0\x1c\nGET /v\n",
            &endless,
            &later,
        ] {
            assert_eq!(
                found(said),
                Hidden::Request,
                "{:?}",
                String::from_utf8_lossy(&said[..said.len().min(60)])
            );
        }
    }

    #[test]
    fn other_words_are_not() {
        for said in [
            &b"*2\r\n$3\r\nGET\r\n$4\r\n/key\r\n"[..],
            b"SET a 1\r\nGET /key\r\n",
            b"\0\0\0\x0aGET key\n",
            b"\0\0\0\x40INSERT INTO log VALUES ('\"GET / HTTP/1.1\" 200 7');\n",
            // In a ClientHello after other words.
            b"\0\0\0\x08\x04\xd2\x16\x2f\x16\x03\x01\x08http/1.1\0\r\0\x0a",
            b"EHLO a\r\nHTTP/1.1 and more\r\nnoHTTP/1.1\r\n HTTP/\r\n HTTP/x\r\n",
        ] {
            assert_eq!(found(said), Hidden::NotYet, "{:?}", String::from_utf8_lossy(said));
        }
    }

    #[test]
    fn answers_are_known() {
        let looked = |pieces: &[&str]| {
            let mut status = StatusLine::default();
            pieces.iter().map(|piece| status.look(piece.as_bytes())).collect::<Vec<_>>()
        };
        assert_eq!(looked(&["HTTP/1.1 200 OK\r\n"]), [Hidden::Request]);
        assert_eq!(looked(&["HT", "TP/", "0"]), [Hidden::NotYet, Hidden::NotYet, Hidden::Request]);
        assert_eq!(looked(&["+OK\r\n"]), [Hidden::Nothing]);
        assert_eq!(looked(&["HTTP/x"]), [Hidden::Nothing]);
    }

    #[test]
    fn nobody_asks_a_server_that_greets() {
        let request = b"DATA\nGET / HTTP/1.1\r\n";
        let settings = b"\0\0\x06\x04\0\0\0\0\0";
        for greeting in [&b""[..], b"H", b"HTTP/1.1 408 Request Timeout\r\n", settings, &settings[..1]] {
            assert_eq!(HiddenRequest::after(greeting).look(request), Hidden::Request, "{greeting:?}");
        }
        for greeting in [&b"220 mail\r\n"[..], b"S", b"\x4a\0\0\0\x0a8.0", b"HELO"] {
            assert_eq!(HiddenRequest::after(greeting).look(request), Hidden::Nothing, "{greeting:?}");
        }
    }

    #[test]
    fn it_comes_to_an_end_behind_a_line() {
        let lines = b"line\n".repeat(20_000);
        assert_eq!(found(&lines), Hidden::Nothing);
        assert_eq!(found(&[0; 100_000]), Hidden::NotYet);
    }
}
