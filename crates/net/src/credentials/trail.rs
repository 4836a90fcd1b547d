//! Something that may become a value, followed byte by byte.

use super::escapes::{self, LONGEST, Spelled, is_digit, spelled};
use super::watch::{Value, Written};

/// What encoders put between the lines of one text, as it is and in a JSON string.
const BREAKS: [&[u8]; 4] = [b"\n", b"\r\n", b"\\n", b"\\r\\n"];

/// Something that may become a value.
#[derive(Clone, Copy)]
pub(super) struct Trail {
    pub(super) number: usize,
    /// Where in the stream it began.
    pub(super) start: u64,
    /// The byte of the value that comes next.
    pub(super) read: usize,
    /// What was read of an escape, or of what stands between two letters.
    escape: [u8; LONGEST],
    length: usize,
    /// Backslashes that were left out before the first letter.
    left_out: usize,
}

impl Trail {
    pub(super) fn new(number: usize, start: u64) -> Self {
        Self { number, start, read: 0, escape: [0; LONGEST], length: 0, left_out: 0 }
    }

    /// Follows it by one byte, wherever it may lead.
    pub(super) fn step(self, value: &Value, byte: u8, next: &mut Vec<Self>) {
        let Some(letter) = value.text.get(self.read).copied() else { return };
        match value.written {
            Written::InLines => self.step_in_lines(letter, byte, next),
            Written::InHexadecimal => {
                let is_second = self.escape[..self.length].last().is_some_and(u8::is_ascii_hexdigit);
                let is_between = self.length == 0 && self.read > 0 && b": -\n".contains(&byte);
                if is_second && is_digit(byte, letter.into(), 0) {
                    next.push(self.after(1));
                } else if !is_second && (is_between || is_digit(byte, letter.into(), 1)) {
                    next.extend(self.escaped(byte));
                }
            }
            Written::Freely if self.length == 0 => {
                if byte == letter || (byte == b'+' && letter == b' ') {
                    next.push(self.after(1));
                }
                if escapes::may_begin(byte) {
                    next.extend(self.escaped(byte));
                }
            }
            Written::Freely => {
                let Some(longer) = self.escaped(byte) else { return };
                match spelled(&longer.escape[..longer.length], &value.text[longer.read..]) {
                    Spelled::No => {}
                    Spelled::Begun => next.push(longer.shortened()),
                    Spelled::Whole(count) => next.push(longer.after(count)),
                    Spelled::WholeOrBegun(count) => next.extend([longer.after(count), longer.shortened()]),
                }
            }
        }
    }

    /// Follows an encoded text: a letter, or what stands between two lines, or the escape of a sign.
    fn step_in_lines(self, letter: u8, byte: u8, next: &mut Vec<Self>) {
        let between = &self.escape[..self.length];
        let is_between_lines = BREAKS.contains(&between);
        if between.is_empty() || is_between_lines {
            if byte == letter {
                return next.push(self.after(1));
            }
            // However far the next line is indented.
            if is_between_lines && matches!(byte, b' ' | b'\t') {
                return next.push(self);
            }
        }
        let may_be_escaped = matches!(letter, b'/' | b'+');
        if is_between_lines && may_be_escaped && escapes::may_begin(byte) {
            return next.extend(self.after(0).escaped(byte));
        }
        let Some(longer) = self.escaped(byte) else { return };
        let read = &longer.escape[..longer.length];
        let is_break = self.read > 0 && BREAKS.iter().any(|known| known.starts_with(read));
        match if may_be_escaped { spelled(read, &[letter]) } else { Spelled::No } {
            Spelled::Whole(count) => next.push(longer.after(count)),
            Spelled::Begun | Spelled::WholeOrBegun(_) => next.push(longer.shortened()),
            Spelled::No if is_break => next.push(longer),
            Spelled::No => {}
        }
    }

    /// The bytes that may come next, and some more.
    pub(super) fn candidates(&self, value: &Value) -> Vec<u8> {
        let letter = value.text.get(self.read).copied();
        let others: &[u8] = match value.written {
            Written::InLines if self.length == 0 => b"\r\n%\\&",
            Written::InLines => return (0..=u8::MAX).collect(),
            Written::InHexadecimal => b"0123456789abcdefABCDEF: -\n",
            Written::Freely if self.length == 0 => b"+%\\&",
            Written::Freely => return (0..=u8::MAX).collect(),
        };
        let mut all: Vec<u8> = letter.into_iter().chain(others.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether it goes on as the other does.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.number, self.read, self.length) == (other.number, other.read, other.length)
            && self.escape[..self.length] == other.escape[..other.length]
    }

    /// What it goes on with depends on nothing else.
    pub(super) fn same(&self) -> (usize, usize, [u8; LONGEST], usize) {
        let mut escape = [0; LONGEST];
        escape[..self.length].copy_from_slice(&self.escape[..self.length]);
        (self.number, self.read, escape, self.length)
    }

    /// After so many bytes more of the value.
    fn after(self, count: usize) -> Self {
        Self { read: self.read + count, length: 0, left_out: 0, ..self }
    }

    /// The same without a backslash in front of others: it means that the rest was escaped once more, and the rest
    /// goes on as it would by itself. Else each backslash of a long row would begin an escape of its own, and all
    /// of them would be followed. Of a row before the first letter only the end belongs to the value.
    fn shortened(mut self) -> Self {
        // The same between the halves of a letter that takes two escapes.
        if self.length > 2 && self.escape[..self.length].ends_with(b"\\\\") {
            self.length -= 1;
        }
        if self.escape[..self.length].starts_with(b"\\\\") {
            self.escape.copy_within(1..self.length, 0);
            self.length -= 1;
            match self.read == 0 && self.left_out == LONGEST {
                true => self.start += 1,
                false => self.left_out += 1,
            }
        }
        self
    }

    /// After one byte more of an escape. None is longer than the longest.
    fn escaped(mut self, byte: u8) -> Option<Self> {
        *self.escape.get_mut(self.length)? = byte;
        self.length += 1;
        Some(self)
    }
}
