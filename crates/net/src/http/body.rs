//! Finding the end of a request's body without changing a byte of it.

use super::head::{BadRequest, Framing};

/// Bytes of one chunk's size line, and of all trailers together.
const LONGEST_SIZE_LINE: usize = 1024;
const LONGEST_TRAILERS: usize = 16 * 1024;

/// Follows one body to its end.
#[derive(Debug)]
pub(super) struct BodyScan {
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// So many bytes, then the end.
    Counted(u64),
    /// In the size of a chunk.
    Size {
        read: usize,
        size: u64,
    },
    /// After the size, in what extensions say.
    Extension {
        read: usize,
        size: u64,
    },
    /// The line end of the size.
    SizeEnd {
        size: u64,
    },
    /// In a chunk.
    Data(u64),
    /// The line end of a chunk.
    DataCr,
    DataLf,
    /// In the trailers; `at` counts within the line.
    Trailer {
        read: usize,
        at: usize,
    },
    TrailerLf {
        read: usize,
        at: usize,
    },
    Done,
}

impl BodyScan {
    /// At the beginning of a body.
    pub(super) fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Length(0) => State::Done,
            Framing::Length(length) => State::Counted(length),
            Framing::Chunked => State::Size { read: 0, size: 0 },
        };
        Self { state }
    }

    /// Whether the body has ended.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// How many of these bytes belong to the body.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> Result<usize, BadRequest> {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Done {
            match &mut self.state {
                State::Counted(left) | State::Data(left) => {
                    let part = (bytes.len() - at).min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= part as u64;
                    at += part;
                    self.state = match self.state {
                        State::Counted(0) => State::Done,
                        State::Data(0) => State::DataCr,
                        other => other,
                    };
                }
                _ => {
                    self.state = self.state.after(bytes[at])?;
                    at += 1;
                }
            }
        }
        Ok(at)
    }
}

impl State {
    /// The state after one byte of a chunked body that is not data.
    fn after(self, byte: u8) -> Result<Self, BadRequest> {
        match (self, byte) {
            (Self::Size { read, size }, digit) if digit.is_ascii_hexdigit() && read < 15 => {
                let digit = char::from(digit).to_digit(16).unwrap_or_default();
                Ok(Self::Size { read: read + 1, size: size << 4 | u64::from(digit) })
            }
            (Self::Size { read: 1.., size }, b'\r') => Ok(Self::SizeEnd { size }),
            (Self::Size { read: 1.., size }, b';') => Ok(Self::Extension { read: 0, size }),
            (Self::Extension { size, .. }, b'\r') => Ok(Self::SizeEnd { size }),
            (Self::Extension { read, size }, b' '..=b'~' | b'\t') if read < LONGEST_SIZE_LINE => {
                Ok(Self::Extension { read: read + 1, size })
            }
            (Self::SizeEnd { size: 0 }, b'\n') => Ok(Self::Trailer { read: 0, at: 0 }),
            (Self::SizeEnd { size }, b'\n') => Ok(Self::Data(size)),
            (Self::DataCr, b'\r') => Ok(Self::DataLf),
            (Self::DataLf, b'\n') => Ok(Self::Size { read: 0, size: 0 }),
            (Self::Trailer { read, at }, b'\r') => Ok(Self::TrailerLf { read, at }),
            (Self::Trailer { at: 0, .. }, b' ' | b'\t') => Err(BadRequest::Chunk),
            (Self::Trailer { read, at }, b' '..=b'~' | b'\t' | 0x80..) if read < LONGEST_TRAILERS => {
                Ok(Self::Trailer { read: read + 1, at: at + 1 })
            }
            (Self::TrailerLf { at: 0, .. }, b'\n') => Ok(Self::Done),
            (Self::TrailerLf { read, .. }, b'\n') => Ok(Self::Trailer { read: read + 1, at: 0 }),
            _ => Err(BadRequest::Chunk),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadRequest, BodyScan, Framing};

    fn length(framing: Framing, bytes: &[u8]) -> Result<Option<usize>, BadRequest> {
        // Byte by byte must see what one piece sees.
        let mut whole = BodyScan::new(framing);
        let read = whole.follow(bytes);
        let mut single = BodyScan::new(framing);
        let pieces = bytes.iter().try_fold(0, |sum, byte| Ok(sum + single.follow(&[*byte])?));
        assert_eq!(read, pieces);
        read.map(|read| whole.is_done().then_some(read))
    }

    #[test]
    fn counted_bodies_end_after_their_length() {
        assert_eq!(length(Framing::Length(3), b"abcGET"), Ok(Some(3)));
        assert_eq!(length(Framing::Length(9), b"abc"), Ok(None));
        assert_eq!(length(Framing::Length(0), b"abc"), Ok(Some(0)));
    }

    #[test]
    fn chunked_bodies_end_after_their_trailers() {
        for body in ["0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "3;a=b\r\nabc\r\n00\r\nX: y\r\nZ: w\r\n\r\n"] {
            let more = [body.as_bytes(), b"GET / HTTP/1.1"].concat();
            assert_eq!(length(Framing::Chunked, &more), Ok(Some(body.len())), "{body:?}");
        }
        assert_eq!(length(Framing::Chunked, b"a\r\n0123"), Ok(None));
    }

    #[test]
    fn odd_chunks_are_refused() {
        for body in [
            "0x3\r\nabc\r\n",
            "+3\r\nabc\r\n",
            "3\nabc\r\n",
            "3 \r\nabc\r\n",
            " 3\r\nabc\r\n",
            "3\r\nabcd\r\n",
            "3\r\nabc\n0\r\n\r\n",
            "3;a\n\r\nabc\r\n",
            "\r\n",
            ";\r\n",
            "0\r\n folded\r\n\r\n",
            "0\r\nX: y\n\r\n",
            "0\r\nX: y\rz\r\n\r\n",
            "ffffffffffffffff\r\n",
        ] {
            assert_eq!(length(Framing::Chunked, body.as_bytes()), Err(BadRequest::Chunk), "{body:?}");
        }
    }
}
