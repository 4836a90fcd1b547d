//! Looking for values in a stream, letter by letter.
//!
//! Everything that may become a value is followed from its first byte on, so that a stream may be cut anywhere
//! and nothing is read twice.

use super::escapes::{self, LONGEST, Spelled, is_digit, spelled};
use zeroize::Zeroizing;

/// Fewer letters than these tell nobody that a value goes on.
const FEWEST_WITHHELD: usize = 8;
/// With more trails than these the same ones are looked for among them.
const CROWD: usize = 64;
/// Bytes that a quick look is at.
const GLANCE: usize = 4;

/// One value to be looked for.
pub(super) struct Value {
    pub(super) text: Zeroizing<Vec<u8>>,
    pub(super) written: Written,
    /// What it is covered with, again and again to its length.
    pub(super) cover: Vec<u8>,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Each letter as itself or in any escape.
    Freely,
    /// As it is.
    Exactly,
    /// Two digits for each byte, with or without something between them.
    InHexadecimal,
}

/// The values looked for, ready for searching.
pub(super) struct Watch {
    values: Vec<Value>,
    /// For each byte the values that may begin with it.
    starts: Vec<Vec<usize>>,
    /// For any two bytes whether a value may begin with them, one bit each.
    pairs: Vec<u64>,
}

/// What was read of one stream.
#[derive(Default)]
pub(super) struct Course {
    /// How many bytes.
    pub(super) at: u64,
    trails: Vec<Trail>,
}

/// A value that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sighting {
    pub(super) number: usize,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Something that may become a value.
#[derive(Clone, Copy)]
struct Trail {
    number: usize,
    start: u64,
    /// Bytes of the value.
    read: usize,
    /// What was read of an escape.
    escape: [u8; LONGEST],
    length: usize,
}

impl Watch {
    pub(super) fn new(values: Vec<Value>) -> Self {
        let mut watch = Self { starts: vec![Vec::new(); 256], pairs: vec![0; 65536 / 64], values };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for number in 0..watch.values.len() {
            for byte in 0..=u8::MAX {
                first.clear();
                watch.step(Trail::new(number, 0), byte, &mut first);
                if first.is_empty() {
                    continue;
                }
                watch.starts[usize::from(byte)].push(number);
                for next in 0..=u8::MAX {
                    second.clear();
                    first.iter().for_each(|trail| watch.step(*trail, next, &mut second));
                    if !second.is_empty() {
                        let pair = usize::from(byte) << 8 | usize::from(next);
                        watch.pairs[pair / 64] |= 1 << (pair % 64);
                    }
                }
            }
        }
        watch
    }

    /// Reads on. Of values that end at one place the longest is given.
    pub(super) fn read(&self, course: &mut Course, text: &[u8]) -> Vec<Sighting> {
        let (mut sightings, mut next) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < text.len() {
            if course.trails.is_empty() {
                match self.beginning(text, at) {
                    Some(beginning) => at = beginning,
                    None => break,
                }
            }
            let byte = text[at];
            for trail in course.trails.drain(..) {
                self.step(trail, byte, &mut next);
            }
            if self.may_begin(&text[at..]) {
                let start = course.at + at as u64;
                let promising = |number: &&usize| self.values[**number].may_be(&text[at..]);
                for number in self.starts[usize::from(byte)].iter().filter(promising) {
                    self.step(Trail::new(*number, start), byte, &mut next);
                }
            }
            at += 1;
            if next.is_empty() {
                continue;
            }
            let end = course.at + at as u64;
            let whole = next.iter().filter(|trail| trail.read == self.values[trail.number].text.len());
            if let Some(Trail { number, start, .. }) = whole.min_by_key(|trail| trail.start) {
                sightings.push(Sighting { number: *number, start: *start, end });
                next.retain(|trail| trail.read < self.values[trail.number].text.len());
            }
            if next.len() > CROWD {
                next.sort_unstable_by_key(|trail| (trail.same(), trail.start));
                next.dedup_by_key(|trail| trail.same());
            }
            std::mem::swap(&mut course.trails, &mut next);
        }
        course.at += text.len() as u64;
        sightings
    }

    /// From where on nothing may be passed on yet: where a value began of which half was read.
    ///
    /// To withhold less would tell whoever has a server repeat guesses how far each of them is right.
    pub(super) fn withheld(&self, course: &Course) -> u64 {
        let far = |trail: &&Trail| {
            trail.read >= FEWEST_WITHHELD && trail.read * 2 >= self.values[trail.number].text.len()
        };
        course.trails.iter().filter(far).map(|trail| trail.start).min().unwrap_or(course.at)
    }

    /// Covers what was sighted in a text of the stream that begins at `from`.
    pub(super) fn cover(&self, sighting: Sighting, from: u64, text: &mut [u8]) {
        let place = |at: u64| usize::try_from(at.saturating_sub(from)).unwrap_or(usize::MAX).min(text.len());
        let before = usize::try_from(from.saturating_sub(sighting.start)).unwrap_or(usize::MAX);
        let value = &self.values[sighting.number];
        let range = place(sighting.start)..place(sighting.end);
        let mut cover = value.cover.iter().cycle().skip(before % value.cover.len().max(1));
        // What stands between digits stays.
        let is_letter = |byte: &u8| value.written != Written::InHexadecimal || byte.is_ascii_hexdigit();
        for byte in text[range].iter_mut().filter(|byte| is_letter(byte)) {
            *byte = cover.next().copied().unwrap_or_default();
        }
    }

    fn beginning(&self, text: &[u8], from: usize) -> Option<usize> {
        let within = text[from..].windows(2).position(|two| self.is_pair(two[0], two[1]));
        match within {
            Some(at) => Some(from + at),
            None => Some(text.len() - 1).filter(|last| self.may_begin(&text[*last..])),
        }
    }

    fn may_begin(&self, text: &[u8]) -> bool {
        match text {
            [first, second, ..] => self.is_pair(*first, *second),
            [last] => !self.starts[usize::from(*last)].is_empty(),
            [] => false,
        }
    }

    fn is_pair(&self, first: u8, second: u8) -> bool {
        let pair = usize::from(first) << 8 | usize::from(second);
        self.pairs[pair / 64] >> (pair % 64) & 1 != 0
    }

    /// Follows a trail by one byte, wherever it may lead.
    fn step(&self, mut trail: Trail, byte: u8, next: &mut Vec<Trail>) {
        let value = &self.values[trail.number];
        let Some(letter) = value.text.get(trail.read).copied() else { return };
        match value.written {
            Written::Exactly if byte == letter => next.push(trail.after(1)),
            Written::Exactly => {}
            Written::InHexadecimal => {
                let is_second = trail.escape[..trail.length].last().is_some_and(u8::is_ascii_hexdigit);
                let is_between = trail.length == 0 && trail.read > 0 && b": -".contains(&byte);
                if is_second && is_digit(byte, letter.into(), 0) {
                    next.push(trail.after(1));
                } else if !is_second && (is_between || is_digit(byte, letter.into(), 1)) {
                    next.extend(trail.escaped(byte));
                }
            }
            Written::Freely if trail.length == 0 => {
                if byte == letter || (byte == b'+' && letter == b' ') {
                    next.push(trail.after(1));
                }
                if escapes::may_begin(byte) {
                    next.extend(trail.escaped(byte));
                }
            }
            Written::Freely => {
                let Some(longer) = trail.escaped(byte) else { return };
                trail = longer;
                match spelled(&trail.escape[..trail.length], &value.text[trail.read..]) {
                    Spelled::No => {}
                    Spelled::Begun => next.push(trail),
                    Spelled::Whole(count) => next.push(trail.after(count)),
                }
            }
        }
    }
}

impl Value {
    /// A quick look at whether it may stand where this text begins. To most of them it says no.
    fn may_be(&self, text: &[u8]) -> bool {
        let mut other =
            text.iter().zip(self.text.iter()).take(GLANCE).filter(|(byte, letter)| byte != letter);
        match (self.written, other.next()) {
            (Written::InHexadecimal, _) | (_, None) => true,
            (Written::Exactly, Some(_)) => false,
            (Written::Freely, Some((byte, _))) => escapes::may_begin(*byte) || *byte == b'+',
        }
    }
}

impl Trail {
    fn new(number: usize, start: u64) -> Self {
        Self { number, start, read: 0, escape: [0; LONGEST], length: 0 }
    }

    /// After so many bytes more of the value.
    fn after(self, count: usize) -> Self {
        Self { read: self.read + count, length: 0, ..self }
    }

    /// After one byte more of an escape. None is longer than the longest.
    fn escaped(mut self, byte: u8) -> Option<Self> {
        *self.escape.get_mut(self.length)? = byte;
        self.length += 1;
        Some(self)
    }

    /// What it goes on with depends on nothing else.
    fn same(&self) -> (usize, usize, [u8; LONGEST], usize) {
        let mut escape = [0; LONGEST];
        escape[..self.length].copy_from_slice(&self.escape[..self.length]);
        (self.number, self.read, escape, self.length)
    }
}
