//! Looking for values in a stream, letter by letter.
//!
//! Everything that may become a value is followed from its first byte on, so that a stream may be cut anywhere
//! and nothing is read twice.

use super::starts::Starts;
use super::trail::Trail;
use zeroize::Zeroizing;

/// With more trails than these the same ones are looked for among them.
const CROWD: usize = 64;

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
    /// As it is, on one line or several, which may be indented, with its signs escaped or not.
    InLines,
    /// Two digits for each byte, with or without something between them.
    InHexadecimal,
}

/// The values looked for, ready for searching.
pub(super) struct Watch {
    values: Vec<Value>,
    starts: Starts,
}

/// What was read of one stream.
#[derive(Default)]
pub(super) struct Course {
    /// How many bytes.
    pub(super) at: u64,
    trails: Vec<Trail>,
}

/// A value that was read, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sighting {
    number: usize,
    start: u64,
    end: u64,
}

impl Watch {
    pub(super) fn new(values: Vec<Value>) -> Self {
        Self { starts: Starts::of(&values), values }
    }

    /// Reads on. Of values that end at one place the longest is given.
    ///
    /// No part of a value is one: to cover parts would tell whoever has a server repeat guesses which of them
    /// are right.
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
            for number in self.starts.at(&text[at..]) {
                let trail = Trail::new(*number, course.at + at as u64);
                trail.step(&self.values[*number], byte, &mut fresh);
                // What goes on a longer one is none of its own.
                fresh.retain(|new: &Trail| !next.iter().any(|known: &Trail| known.is_same(new)));
                next.append(&mut fresh);
            }
            at += 1;
            if next.is_empty() {
                continue;
            }
            let is_whole = |trail: &Trail| trail.read == self.values[trail.number].text.len();
            if let Some(Trail { number, start, .. }) =
                next.iter().filter(|trail| is_whole(trail)).min_by_key(|trail| trail.start)
            {
                sightings.push(Sighting { number: *number, start: *start, end: course.at + at as u64 });
                next.retain(|trail| !is_whole(trail));
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

    /// Covers what was sighted in a text of the stream that begins at `from`.
    pub(super) fn cover(&self, sighting: Sighting, from: u64, text: &mut [u8]) {
        let place = |at: u64| usize::try_from(at.saturating_sub(from)).unwrap_or(usize::MAX).min(text.len());
        let before = usize::try_from(from.saturating_sub(sighting.start)).unwrap_or(usize::MAX);
        let value = &self.values[sighting.number];
        let range = place(sighting.start)..place(sighting.end);
        let mut cover = value.cover.iter().cycle().skip(before % value.cover.len().max(1));
        let text = &mut text[range];
        for at in 0..text.len() {
            // What stands between letters stays.
            let is_letter = match (value.written, text[at]) {
                (Written::Freely, _) => true,
                (Written::InHexadecimal, byte) => byte.is_ascii_hexdigit(),
                (Written::InLines, b'\r' | b'\n' | b' ' | b'\t') => false,
                (Written::InLines, b'\\') => !is_line_end(text.get(at + 1)),
                (Written::InLines, byte) => !(is_line_end(Some(&byte)) && ends_with_backslash(&text[..at])),
            };
            if is_letter {
                text[at] = cover.next().copied().unwrap_or_default();
            }
        }
    }
}

/// Whether this, behind a backslash, is a line end in a JSON string.
fn is_line_end(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| b"nr".contains(byte))
}

/// Whether a backslash comes before it that was left: those of escaped signs have been covered.
fn ends_with_backslash(text: &[u8]) -> bool {
    text.last() == Some(&b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(text: &str) -> Watch {
        watch_written(text, Written::Freely)
    }

    fn watch_written(text: &str, written: Written) -> Watch {
        let text = Zeroizing::new(text.as_bytes().to_vec());
        Watch::new(vec![Value { text, written, cover: b"#".to_vec() }])
    }

    /// What is left of a text when everything is covered.
    fn covered(watch: &Watch, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for sighting in watch.read(&mut Course::default(), &bytes.clone()) {
            watch.cover(sighting, 0, &mut bytes);
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_row_of_backslashes_is_followed_once() {
        for value in ["secret-value", "\\backslash\\\\es", "/slash"] {
            let watch = watch(value);
            for piece in ["\\", "\\\\\\n", "\\u{", "&amp;", "%25"] {
                let mut course = Course::default();
                watch.read(&mut course, piece.repeat(20_000).as_bytes());
                // What has just begun; and where backslashes are letters, each place of the value a few times.
                let most = if value.contains('\\') { 3 * value.len() } else { 2 };
                assert!(course.trails.len() <= most, "{} of {piece:?} for {value}", course.trails.len());
            }
        }
    }

    /// The same in an encoded text, whose signs may be escaped, and however far lines are indented.
    #[test]
    fn rows_in_an_encoded_text_are_followed_once() {
        for value in ["/+ab", "ab/+", "++++//+/"] {
            let watch = watch_written(value, Written::InLines);
            for piece in ["\\", "\\\\\\n", "%25", "\\u", "&amp;", "\n ", "+", "/\\n", "a\n"] {
                let mut course = Course::default();
                watch.read(&mut course, piece.repeat(20_000).as_bytes());
                assert!(course.trails.len() <= 2 * value.len(), "{} of {piece:?}", course.trails.len());
            }
            let far = format!("{}\n{}{}", &value[..2], " ".repeat(10_000), &value[2..]);
            assert_eq!(watch.read(&mut Course::default(), far.as_bytes()).len(), 1, "{value}");
        }
    }

    #[test]
    fn what_follows_a_row_is_found() {
        let watch = watch("/slash+");
        for count in [1, 2, 3, 15, 16, 17, 500] {
            let row = "\\".repeat(count);
            let told = covered(&watch, &format!("{row}/slash+ {row}u002fslash{row}u002b {row}/slush+"));
            let rest = format!(" {row}/slush+");
            let hidden = told.strip_suffix(&rest).unwrap();
            assert!(!hidden.contains(['s', '/', '+', 'u', '2']), "{count}: {told}");
            // Of the row before it no more than an escape's length is covered.
            assert!(hidden.matches('\\').count() >= 2 * count.saturating_sub(18), "{count}: {told}");
        }
    }
}
