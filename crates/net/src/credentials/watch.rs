//! Looking for values in a stream, letter by letter.
//!
//! Everything that may become a value, or a good part of one, is followed from its first byte on, so that a
//! stream may be cut anywhere and nothing is read twice.

use super::escapes::LONGEST;
use super::starts::{Starts, stride};
use super::trail::Trail;
use std::ops::Range;
use zeroize::Zeroizing;

/// Fewer letters than these are in answers by chance.
const FEWEST: usize = 8;
/// With more trails than these the same ones are looked for among them.
const CROWD: usize = 64;
/// No more bytes than these are held back of a stream.
const MOST_HELD_BACK: usize = 16 * 1024;

/// One value to be looked for.
pub(super) struct Value {
    pub(super) text: Zeroizing<Vec<u8>>,
    pub(super) written: Written,
    /// So many bytes of it one after the other, from wherever on, are as good as all.
    pub(super) enough: usize,
    /// At one in so many of its places such a part is looked for.
    pub(super) stride: usize,
    /// What it is covered with, again and again to its length.
    pub(super) cover: Vec<u8>,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Each letter as itself or in any escape.
    Freely,
    /// As it is, on one line or several.
    InLines,
    /// Two digits for each byte, with or without something between them.
    InHexadecimal,
}

/// The values looked for, ready for searching.
pub(super) struct Watch {
    values: Vec<Value>,
    starts: Starts,
    /// So many bytes back something may have begun of which nobody can tell yet.
    hold: usize,
}

/// What was read of one stream.
#[derive(Default)]
pub(super) struct Course {
    /// How many bytes.
    pub(super) at: u64,
    trails: Vec<Trail>,
    /// The last bytes that were sighted.
    sighted: Range<u64>,
}

/// Bytes of a value that were read: the first of a part that is long enough, or more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sighting {
    number: usize,
    start: u64,
    end: u64,
    /// With which byte of the cover to begin.
    phase: usize,
}

impl Value {
    /// A value of which so much is as good as all.
    pub(super) fn new(text: &[u8], written: Written, cover: Vec<u8>, enough: usize) -> Self {
        let enough = enough.min(text.len());
        let stride = stride(enough);
        // A part may begin shortly before one of the places that are looked at.
        let enough = if enough < text.len() { enough - (stride - 1) } else { enough };
        Self { text: Zeroizing::new(text.to_vec()), written, enough, stride, cover }
    }

    /// The most bytes that may be there of too few letters.
    fn longest_unsure(&self) -> usize {
        let letter = match self.written {
            Written::Freely => LONGEST,
            Written::InLines => 5,
            Written::InHexadecimal => 3,
        };
        (self.enough * letter).saturating_sub(1)
    }
}

/// How many bytes of so many are as good as all.
pub(super) fn half(length: usize) -> usize {
    length.div_ceil(2).max(FEWEST).min(length)
}

impl Watch {
    pub(super) fn new(values: Vec<Value>) -> Self {
        let hold = values.iter().map(Value::longest_unsure).max().unwrap_or(0).min(MOST_HELD_BACK);
        Self { starts: Starts::of(&values), values, hold }
    }

    /// How many of the last bytes of a stream are not to be passed on before more of it was read.
    ///
    /// They are held back whatever they are: to hold back only what looks like a value would tell whoever has
    /// a server repeat guesses how far each of them is right.
    pub(super) fn hold(&self) -> usize {
        self.hold
    }

    /// Reads on. Of parts that end at one place the longest is given.
    pub(super) fn read(&self, course: &mut Course, text: &[u8]) -> Vec<Sighting> {
        let (mut sightings, mut next, mut fresh) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = 0;
        while at < text.len() {
            if course.trails.is_empty() {
                match self.starts.next(text, at) {
                    Some(beginning) => at = beginning,
                    None => break,
                }
            }
            let byte = text[at];
            for trail in course.trails.drain(..) {
                trail.step(&self.values[trail.number], byte, &mut next);
            }
            for start in self.starts.at(&text[at..]) {
                let trail = Trail::new(start.number, start.first, course.at + at as u64);
                trail.step(&self.values[start.number], byte, &mut fresh);
                // What goes on a longer one is none of its own.
                fresh.retain(|new: &Trail| !next.iter().any(|known: &Trail| known.is_same(new)));
                next.append(&mut fresh);
            }
            at += 1;
            if next.is_empty() {
                continue;
            }
            let enough = |trail: &&Trail| {
                trail.is_settled() && trail.read - trail.first >= self.values[trail.number].enough
            };
            if let Some(best) = next.iter().filter(enough).min_by_key(|trail| (trail.start, trail.first)) {
                sightings.push(self.sighted(&mut course.sighted, best, course.at + at as u64));
            }
            next.retain(|trail| trail.read < self.values[trail.number].text.len());
            if next.len() > CROWD {
                next.sort_unstable_by_key(|trail| (trail.same(), trail.first, trail.start));
                next.dedup_by_key(|trail| trail.same());
            }
            std::mem::swap(&mut course.trails, &mut next);
        }
        course.at += text.len() as u64;
        sightings
    }

    /// What this trail says that was not said yet.
    fn sighted(&self, sighted: &mut Range<u64>, trail: &Trail, end: u64) -> Sighting {
        let start = match &*sighted {
            known if known.start <= trail.start && trail.start < known.end => known.end,
            _ => {
                sighted.start = trail.start;
                trail.start
            }
        };
        sighted.end = end;
        let phase = match self.values[trail.number].written {
            Written::InHexadecimal if start == trail.start => 2 * trail.first,
            Written::InHexadecimal => 2 * (trail.read - 1),
            Written::InLines if start != trail.start => trail.read - 1,
            _ => trail.first + usize::try_from(start - trail.start).unwrap_or(usize::MAX),
        };
        Sighting { number: trail.number, start, end, phase }
    }

    /// Covers what was sighted in a text of the stream that begins at `from`.
    pub(super) fn cover(&self, sighting: Sighting, from: u64, text: &mut [u8]) {
        let place = |at: u64| usize::try_from(at.saturating_sub(from)).unwrap_or(usize::MAX).min(text.len());
        let before = usize::try_from(from.saturating_sub(sighting.start)).unwrap_or(usize::MAX);
        let value = &self.values[sighting.number];
        let range = place(sighting.start)..place(sighting.end);
        let phase = sighting.phase.saturating_add(before) % value.cover.len().max(1);
        let mut cover = value.cover.iter().cycle().skip(phase);
        let mut is_after_backslash = false;
        for byte in &mut text[range] {
            // What stands between letters stays.
            let is_letter = match value.written {
                Written::Freely => true,
                Written::InHexadecimal => byte.is_ascii_hexdigit(),
                Written::InLines => !is_after_backslash && !b"\r\n\\".contains(byte),
            };
            is_after_backslash = *byte == b'\\';
            if is_letter {
                *byte = cover.next().copied().unwrap_or_default();
            }
        }
    }
}
