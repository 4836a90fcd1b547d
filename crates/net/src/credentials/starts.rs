//! Where in a text something may begin that is looked for.

use super::trail::Trail;
use super::watch::Value;
use std::collections::HashMap;

/// Bytes that tell whether a value may begin with them.
const GLANCE: usize = 3;
/// The quick answer to that, which may be wrong one way only: bits, and how many there are as a power of two.
const QUICK: u32 = 18;

/// The numbers of values by what they begin with, however they are written.
pub(super) struct Starts {
    by_three: HashMap<[u8; GLANCE], Vec<usize>>,
    /// The same where no more than one byte is known.
    by_one: Vec<Vec<usize>>,
    quick: Vec<u64>,
}

impl Starts {
    pub(super) fn of(values: &[Value]) -> Self {
        let (mut by_three, mut by_one) = (HashMap::<_, Vec<usize>>::new(), vec![Vec::new(); 256]);
        for (number, value) in values.iter().enumerate() {
            let mut begun = vec![([0; GLANCE], vec![Trail::new(number, 0)])];
            for length in 0..GLANCE {
                begun = longer(value, &begun, length);
                if length == 0 {
                    begun.iter().for_each(|(bytes, _)| by_one[usize::from(bytes[0])].push(number));
                }
            }
            for (bytes, _) in begun {
                by_three.entry(bytes).or_default().push(number);
            }
        }
        let mut quick = vec![0_u64; (1 << QUICK) / 64];
        for bytes in by_three.keys() {
            let bit = bit(*bytes);
            quick[bit / 64] |= 1 << (bit % 64);
        }
        Self { by_three, by_one, quick }
    }

    /// The first place from `from` on at which something may begin.
    pub(super) fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let within = text[from..].array_windows().position(|bytes| self.may_begin(*bytes));
        let short = || {
            let last = from.max(text.len().saturating_sub(GLANCE - 1));
            (last..text.len()).find(|at| !self.by_one[usize::from(text[*at])].is_empty())
        };
        within.map(|at| from + at).or_else(short)
    }

    /// What may begin where this text does.
    pub(super) fn at(&self, text: &[u8]) -> &[usize] {
        match text {
            [first, second, third, ..] if self.may_begin([*first, *second, *third]) => {
                self.by_three.get(&[*first, *second, *third]).map_or(&[], Vec::as_slice)
            }
            [_, _, _, ..] | [] => &[],
            [first, ..] => &self.by_one[usize::from(*first)],
        }
    }

    fn may_begin(&self, bytes: [u8; GLANCE]) -> bool {
        let bit = bit(bytes);
        self.quick[bit / 64] >> (bit % 64) & 1 != 0
    }
}

fn bit([first, second, third]: [u8; GLANCE]) -> usize {
    let number = u32::from_le_bytes([first, second, third, 0]);
    (number.wrapping_mul(0x9e37_79b1) >> (u32::BITS - QUICK)) as usize
}

/// All that was begun, with one byte more.
fn longer(
    value: &Value,
    begun: &[([u8; GLANCE], Vec<Trail>)],
    length: usize,
) -> Vec<([u8; GLANCE], Vec<Trail>)> {
    let mut all = Vec::new();
    for (bytes, trails) in begun {
        let mut candidates: Vec<u8> = trails.iter().flat_map(|trail| trail.candidates(value)).collect();
        candidates.sort_unstable();
        candidates.dedup();
        for byte in candidates {
            let mut next = Vec::new();
            trails.iter().for_each(|trail| trail.step(value, byte, &mut next));
            if !next.is_empty() {
                let mut bytes = *bytes;
                bytes[length] = byte;
                all.push((bytes, next));
            }
        }
    }
    all
}
