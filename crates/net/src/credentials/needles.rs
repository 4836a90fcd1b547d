//! Looking for many fixed strings at once.

use zeroize::Zeroize;

/// The strings looked for, ready for searching.
///
/// Most bytes are skipped: the last two bytes of a window as long as the shortest string tell how far the
/// window can move without missing a beginning.
pub(super) struct Needles {
    /// With their number in the caller's list, the longest first.
    strings: Vec<(usize, Vec<u8>)>,
    shortest: usize,
    moves: Vec<u8>,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// One of the strings.
    Whole { start: usize, length: usize, number: usize },
    /// The beginning of one, where the text ends.
    Begun { start: usize },
    /// Nothing.
    Nothing,
}

/// Whether text may follow what is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    MoreMayCome,
    Nothing,
}

/// What is looked for may be a secret.
impl Drop for Needles {
    fn drop(&mut self) {
        self.strings.iter_mut().for_each(|(_, string)| string.zeroize());
    }
}

const PAIRS: usize = 4096;

fn pair(first: u8, second: u8) -> usize {
    ((usize::from(first) << 4) ^ usize::from(second)) % PAIRS
}

impl Needles {
    pub(super) fn new<'a>(strings: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut strings: Vec<(usize, Vec<u8>)> = strings.map(<[u8]>::to_vec).enumerate().collect();
        // An empty string would be found everywhere.
        strings.retain(|(_, string)| !string.is_empty());
        strings.sort_by_key(|(number, string)| (std::cmp::Reverse(string.len()), *number));
        let shortest = strings.last().map_or(0, |(_, string)| string.len());
        // A window of one byte has no pair: it always moves by one.
        let farthest = if shortest < 2 { 0 } else { (shortest - 1).min(usize::from(u8::MAX)) };
        let mut moves = vec![u8::try_from(farthest).unwrap_or(u8::MAX); PAIRS];
        if farthest > 0 {
            for (_, string) in &strings {
                for (at, two) in string[..shortest].windows(2).enumerate() {
                    let slot = &mut moves[pair(two[0], two[1])];
                    *slot = (*slot).min(u8::try_from(shortest - 2 - at).unwrap_or(u8::MAX));
                }
            }
        }
        Self { strings, shortest, moves }
    }

    /// The first string at or after `from`; the longest where several begin at one place.
    pub(super) fn find(&self, text: &[u8], from: usize, after: After) -> Found {
        if self.strings.is_empty() {
            return Found::Nothing;
        }
        let mut at = from;
        while at + self.shortest <= text.len() {
            let step = self.step(&text[at..at + self.shortest]);
            if step > 0 {
                at += step;
                continue;
            }
            let rest = &text[at..];
            if after == After::MoreMayCome && self.begins(rest) {
                return Found::Begun { start: at };
            }
            if let Some((number, string)) = self.strings.iter().find(|(_, string)| rest.starts_with(string)) {
                return Found::Whole { start: at, length: string.len(), number: *number };
            }
            at += 1;
        }
        if after == After::MoreMayCome {
            let begun = (at.min(text.len())..text.len()).find(|start| self.begins(&text[*start..]));
            return begun.map_or(Found::Nothing, |start| Found::Begun { start });
        }
        Found::Nothing
    }

    fn step(&self, window: &[u8]) -> usize {
        match window {
            [.., first, second] => usize::from(self.moves[pair(*first, *second)]),
            _ => 0,
        }
    }

    /// Whether `rest` could become one of the strings, or a longer one than it already is.
    fn begins(&self, rest: &[u8]) -> bool {
        self.strings.iter().any(|(_, string)| string.len() > rest.len() && string.starts_with(rest))
    }
}
