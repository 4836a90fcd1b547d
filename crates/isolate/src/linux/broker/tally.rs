//! How many refusals are told one by one. A command that tries the same thing ten thousand times, or ten
//! thousand things, is told about in a bounded number of records and a count.

use std::collections::HashMap;
use std::time::{Duration, Instant};
use stockade_policy::ViolationKind;

/// Different subjects told about; what comes after is counted.
const MOST_SUBJECTS: usize = 1000;
/// Times the same refusal is told.
const MOST_OF_ONE: u32 = 100;

/// A sandbox may live for days: what was told before this is no part of a flood.
const MEMORY: Duration = Duration::from_secs(60);

/// What has been told already.
#[derive(Default)]
pub(crate) struct Tally {
    told: HashMap<(ViolationKind, String), u32>,
    /// Since when.
    begun: Option<Instant>,
}

/// What becomes of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Telling {
    /// It gets a record of its own.
    InFull,
    /// It is counted.
    AsOneMore,
}

impl Tally {
    pub(crate) fn of(&mut self, kind: ViolationKind, subject: &str) -> Telling {
        self.of_then(kind, subject, MOST_OF_ONE, Instant::now())
    }

    /// For what programs repeat by themselves, like datagrams: only the first is told.
    pub(crate) fn first_of(&mut self, kind: ViolationKind, subject: &str) -> Telling {
        self.of_then(kind, subject, 1, Instant::now())
    }

    fn of_then(&mut self, kind: ViolationKind, subject: &str, most: u32, now: Instant) -> Telling {
        if self.begun.is_none_or(|begun| now.duration_since(begun) > MEMORY) {
            self.begun = Some(now);
            self.told.clear();
        }
        let full = self.told.len() >= MOST_SUBJECTS;
        let key = (kind, subject.to_owned());
        match self.told.get_mut(&key) {
            Some(times) if *times >= most => Telling::AsOneMore,
            Some(times) => {
                *times += 1;
                Telling::InFull
            }
            None if full => Telling::AsOneMore,
            None => {
                self.told.insert(key, 1);
                Telling::InFull
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floods_are_counted() {
        let mut tally = Tally::default();
        let told = (0..1000).filter(|_| tally.of(ViolationKind::Read, "/x") == Telling::InFull).count();
        assert_eq!(told, MOST_OF_ONE as usize);
        assert_eq!(tally.of(ViolationKind::Write, "/x"), Telling::InFull);
        let names = (0..5000).map(|number| format!("/{number}"));
        let told = names.filter(|name| tally.of(ViolationKind::Read, name) == Telling::InFull).count();
        assert_eq!(told, MOST_SUBJECTS - 2);
        let later = Instant::now() + 2 * MEMORY;
        assert_eq!(tally.of_then(ViolationKind::Read, "/x", MOST_OF_ONE, later), Telling::InFull);
        assert_eq!(tally.of_then(ViolationKind::Read, "/another", MOST_OF_ONE, later), Telling::InFull);
    }

    #[test]
    fn what_programs_repeat_is_told_once() {
        let mut tally = Tally::default();
        assert_eq!(tally.first_of(ViolationKind::Connect, "a:443/udp"), Telling::InFull);
        assert_eq!(tally.first_of(ViolationKind::Connect, "a:443/udp"), Telling::AsOneMore);
        assert_eq!(tally.first_of(ViolationKind::Connect, "b:443/udp"), Telling::InFull);
    }
}
