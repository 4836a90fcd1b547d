//! The end of a log file, without reading the rest.

use super::Unfinished;
use super::line::{self, LONGEST_LINE, Link, digest};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Most lines are shorter; a longer one is read with a second look.
const FIRST_LOOK: u64 = 4096;

/// How a file ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) last: Last,
    /// What stands after the last end of line.
    pub(super) unfinished: Option<Unfinished>,
}

/// The last whole line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// There is none.
    Nothing,
    /// It is not one of ours.
    Unreadable,
    Line(Link),
}

/// Reads the end of a file of `size` bytes.
pub(super) fn read(file: &File, size: u64) -> io::Result<Tail> {
    let mut window = FIRST_LOOK;
    loop {
        let start = size.saturating_sub(window);
        let mut bytes = vec![0; usize::try_from(size - start).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, start)?;
        // Room for a whole line and half of another; what is longer is not ours.
        if let Some(tail) = split(&bytes, start == 0 || window > 4 * LONGEST_LINE as u64) {
            return Ok(tail);
        }
        window *= 16;
    }
}

/// `None` when the last whole line begins before these bytes, unless they are all there is to look at.
fn split(bytes: &[u8], all: bool) -> Option<Tail> {
    let newline = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n');
    let (whole, rest) = match newline(bytes) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None if all => (&[][..], bytes),
        None => return None,
    };
    let unfinished = (!rest.is_empty())
        .then(|| Unfinished { bytes: rest.len() as u64, sha256: digest(&[rest]).to_string() });
    let last = match newline(whole) {
        Some(end) => &whole[end + 1..],
        None if all => whole,
        None => return None,
    };
    let last = match line::read(last) {
        Some(parts) => Last::Line(parts.link),
        None if newline(bytes).is_none() => Last::Nothing,
        None => Last::Unreadable,
    };
    Some(Tail { last, unfinished })
}
