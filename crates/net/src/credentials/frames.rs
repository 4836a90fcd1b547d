//! Real values that come back in the messages of a WebSocket.
//!
//! A message may be cut into frames anywhere, and frames about the connection may stand between them. So what
//! belongs to one message is looked at as one text, and goes back to where it stood.

use super::scrub::Scrubber;
use bytes::Bytes;
use std::ops::Range;

/// Bytes held back because a value may have begun before them.
const MOST_HELD: usize = 4 << 20;

const LAST: u8 = 0x80;
const RESERVED: u8 = 0x70;
const KIND: u8 = 0x0f;
const MASKED: u8 = 0x80;
const CONTROL: u8 = 0x08;

/// Frames of a server in which nothing can be looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("the server's frames are not those of a plain WebSocket")]
    Form,
    #[error("the server cuts its messages into too many frames")]
    TooMany,
}

/// Covers real values in the frames of one server. Give it every piece in order, then finish.
pub(crate) struct FrameScrubber {
    scrubber: Scrubber,
    /// What is being read.
    at: At,
    /// The header of a frame, as far as it was read.
    header: Vec<u8>,
    /// What was read and is held back.
    held: Vec<u8>,
    /// Where in it the text of the present message stands that is not settled.
    open: Vec<Range<usize>>,
    /// How much of the present message is.
    settled: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Header,
    /// In the content of a frame.
    Content {
        left: u64,
        part: Part,
    },
}

/// What the content of a frame is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A message that goes on.
    Message,
    /// A message that ends with it.
    LastOfMessage,
    /// A word about the connection, which began here.
    Word { start: usize },
}

impl FrameScrubber {
    /// Covers what this would cover in an answer.
    pub(crate) fn new(scrubber: Scrubber) -> Self {
        Self { scrubber, at: At::Header, header: Vec::new(), held: Vec::new(), open: Vec::new(), settled: 0 }
    }

    /// Takes a piece and gives what can be passed on.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<Bytes, FrameError> {
        let mut rest = piece;
        while !rest.is_empty() {
            match self.at {
                At::Header => {
                    self.header.push(rest[0]);
                    rest = &rest[1..];
                    self.begin()?;
                }
                At::Content { left, part } => {
                    let count = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    let start = self.held.len();
                    self.held.extend_from_slice(&rest[..count]);
                    rest = &rest[count..];
                    if !matches!(part, Part::Word { .. }) {
                        self.open.push(start..self.held.len());
                        self.cover(start);
                    }
                    self.at = At::Content { left: left - count as u64, part };
                }
            }
            self.end();
        }
        self.settle();
        let sure = match (&self.at, self.open.first()) {
            (_, Some(open)) => open.start,
            (At::Content { part: Part::Word { start }, .. }, None) => *start,
            _ => self.held.len(),
        };
        if self.held.len() - sure > MOST_HELD {
            return Err(FrameError::TooMany);
        }
        let kept = self.held.split_off(sure);
        for open in &mut self.open {
            *open = open.start - sure..open.end - sure;
        }
        if let At::Content { part: Part::Word { start }, .. } = &mut self.at {
            *start -= sure;
        }
        Ok(std::mem::replace(&mut self.held, kept).into())
    }

    /// What was held back. Nothing more comes.
    pub(crate) fn finish(&mut self) -> Bytes {
        self.held.append(&mut self.header);
        std::mem::take(&mut self.held).into()
    }

    /// Reads the header of a frame once it is there in full.
    fn begin(&mut self) -> Result<(), FrameError> {
        let [first, second, length @ ..] = self.header.as_slice() else { return Ok(()) };
        if first & RESERVED != 0 || second & MASKED != 0 {
            return Err(FrameError::Form);
        }
        let wanted = match second {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        if length.len() < wanted {
            return Ok(());
        }
        let left = match wanted {
            0 => u64::from(*second),
            _ => length.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
        };
        let is_last = first & LAST != 0;
        self.held.extend_from_slice(&self.header);
        let part = match first & KIND {
            0..=2 if is_last => Part::LastOfMessage,
            0..=2 => Part::Message,
            CONTROL..=10 if is_last && wanted == 0 => Part::Word { start: self.held.len() },
            _ => return Err(FrameError::Form),
        };
        self.header.clear();
        self.at = At::Content { left, part };
        Ok(())
    }

    /// Settles what has ended.
    fn end(&mut self) {
        let At::Content { left: 0, part } = self.at else { return };
        self.at = At::Header;
        match part {
            Part::Message => {}
            Part::LastOfMessage => {
                self.open.clear();
                self.settled = 0;
                self.scrubber.begin_anew();
            }
            Part::Word { start } => {
                self.scrubber.cover_all(&mut self.held[start..]);
            }
        }
    }

    /// Reads what has come of the present message, and covers the values that end in it.
    fn cover(&mut self, start: usize) {
        for sighting in self.scrubber.read(&self.held[start..]) {
            let mut from = self.settled;
            for open in &self.open {
                self.scrubber.cover(sighting, from, &mut self.held[open.clone()]);
                from += open.len() as u64;
            }
        }
    }

    /// The last word of the present message stays open, whatever it is.
    fn settle(&mut self) {
        let sure = self.scrubber.withheld().saturating_sub(self.settled);
        let mut left = usize::try_from(sure).unwrap_or(usize::MAX);
        self.open.retain_mut(|open| {
            let part = left.min(open.len());
            left -= part;
            self.settled += part as u64;
            open.start += part;
            open.start < open.end
        });
    }
}

impl std::fmt::Debug for FrameScrubber {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("FrameScrubber")
    }
}
