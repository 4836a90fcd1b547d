//! How much of the end of a stream waits for more.
//!
//! A value may have begun in the last word. The word waits whatever it is: to hold back only what looks like a
//! value would tell whoever has a server repeat guesses how far each of them is right. So nothing here knows
//! more of the values than how long they are and how much white space is in them, and nothing goes on because
//! time has passed: how a stream is cut is up to others.

use std::collections::VecDeque;

/// Encoders that break lines make none shorter than this, but for the last.
const SHORTEST_LINE: usize = 60;
/// No more bytes than these are held back of a stream.
const MOST_HELD_BACK: usize = 64 * 1024;

/// How far values may reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// The most bytes that one takes, however it is written.
    pub(super) longest: usize,
    /// The most bytes of white space in one.
    pub(super) spaces: usize,
}

/// The last words of a stream.
#[derive(Default)]
pub(super) struct Words {
    /// Bytes that were read.
    at: u64,
    /// Behind the last white space: so many places as values may hold of it, and one more.
    starts: VecDeque<u64>,
    last: Option<u8>,
    /// Letters of base64 that were read last.
    letters: usize,
    /// Hexadecimal digits that were read last.
    digits: usize,
    /// Whether the last byte is within the end of an encoded line, or before the beginning of the next.
    is_line_end: bool,
}

impl Reach {
    /// With values like this one, too.
    pub(super) fn with(self, value: &[u8], letter: usize) -> Self {
        let spaces = value.iter().filter(|byte| is_space(**byte)).count();
        Self { longest: self.longest.max(value.len() * letter), spaces: self.spaces.max(spaces) }
    }

    fn most(self) -> usize {
        self.longest.saturating_sub(1).min(MOST_HELD_BACK)
    }
}

impl Words {
    /// Reads on.
    pub(super) fn read(&mut self, reach: Reach, text: &[u8]) {
        // What comes before that goes on in any case.
        let skipped = text.len().saturating_sub(reach.most() + SHORTEST_LINE + 2);
        if skipped > 0 {
            *self = Self { at: self.at + skipped as u64, ..Self::default() };
        }
        for byte in &text[skipped..] {
            self.step(reach, *byte);
        }
    }

    /// From where on what was read may not be passed on yet.
    pub(super) fn withheld(&self, reach: Reach) -> u64 {
        let word = if self.starts.len() > reach.spaces { self.starts.front() } else { None };
        word.copied().unwrap_or(0).max(self.at.saturating_sub(reach.most() as u64))
    }

    fn step(&mut self, reach: Reach, byte: u8) {
        self.at += 1;
        // Most are like this, and nothing more is to be known about them.
        if self.is_line_end || byte == b'\\' || is_space(byte) {
            self.step_between(reach, byte);
        }
        let is_letter = byte.is_ascii_alphanumeric() || b"+/-_=".contains(&byte);
        self.letters = if is_letter { self.letters + 1 } else { 0 };
        self.digits = if byte.is_ascii_hexdigit() { self.digits + 1 } else { 0 };
        self.last = Some(byte);
    }

    /// At the end of a word or a line.
    fn step_between(&mut self, reach: Reach, byte: u8) {
        let goes_on = match byte {
            b'\r' => self.letters >= SHORTEST_LINE,
            b'\n' => self.letters >= SHORTEST_LINE || (self.is_line_end && self.last == Some(b'\r')),
            // The next line is indented; or two digits for each byte, and a space between them.
            b' ' => self.is_line_end || self.digits == 2,
            b'\t' => self.is_line_end,
            _ => true,
        };
        if !goes_on {
            self.starts.push_back(self.at);
            if self.starts.len() > reach.spaces + 1 {
                self.starts.pop_front();
            }
        }
        self.is_line_end = match byte {
            b'\r' | b'\n' => goes_on,
            b' ' | b'\t' => self.is_line_end,
            // As it is in a JSON string.
            b'\\' => self.is_line_end || self.letters >= SHORTEST_LINE,
            b'r' | b'n' => self.is_line_end && self.last == Some(b'\\'),
            _ => false,
        };
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(spaces: usize, text: &str) -> &str {
        let reach = Reach { longest: 421, spaces };
        let mut all = Words::default();
        all.read(reach, text.as_bytes());
        // However it is cut.
        let mut each = Words::default();
        text.bytes().for_each(|byte| each.read(reach, &[byte]));
        assert_eq!(all.withheld(reach), each.withheld(reach), "{text}");
        &text[usize::try_from(all.withheld(reach)).unwrap()..]
    }

    #[test]
    fn the_last_word_waits() {
        for (text, word) in [
            ("", ""),
            ("data: one\n\n", ""),
            ("{\"a\":1}\r\n", ""),
            ("data: on", "on"),
            ("some words and\tthen", "then"),
            ("dump: 53 45 4", "53 45 4"),
            ("dump: 53 45 ", "53 45 "),
            ("made 45 words ", ""),
            ("made ", ""),
        ] {
            assert_eq!(waits(0, text), word, "{text}");
        }
        assert_eq!(waits(1, "data: one two"), "one two");
        assert_eq!(waits(1, "data: one\n\n"), "\n");
        let line = "QUJD".repeat(15);
        for line_end in ["\n", "\r\n"] {
            let lines = format!("{line}{line_end}{line}{line_end}QU");
            assert_eq!(waits(0, &format!("text {lines}")), lines);
            assert_eq!(waits(0, &format!("{lines}{line_end}")), "");
            assert_eq!(waits(0, &format!("{line}{line_end}{line_end}")), "");
        }
        for line_end in ["\n", "\r\n", "\\n", "\\r\\n"] {
            let indented = format!("{line}{line_end}  \t{line}{line_end}  \tQU");
            assert_eq!(waits(0, &format!("text {indented}")), indented);
            assert_eq!(waits(0, &format!("{indented}{line_end}  ")), "");
        }
        assert_eq!(waits(0, &"x".repeat(1000)).len(), 420);
        assert_eq!(waits(0, &format!("{} y", "x".repeat(1000))), "y");
    }
}
