//! How many refusals are told one by one. A command that tries the same thing ten thousand times, or ten
//! thousand things, is told about in a bounded number of records and a count.

use std::collections::HashMap;
use stockade_policy::ViolationKind;

/// Different subjects told about; what comes after is counted.
const MOST_SUBJECTS: usize = 1000;
/// Times the same refusal is told.
const MOST_OF_ONE: u32 = 100;

/// What has been told already.
#[derive(Default)]
pub(crate) struct Tally(HashMap<(ViolationKind, String), u32>);

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
        let full = self.0.len() >= MOST_SUBJECTS;
        let key = (kind, subject.to_owned());
        match self.0.get_mut(&key) {
            Some(times) if *times >= MOST_OF_ONE => Telling::AsOneMore,
            Some(times) => {
                *times += 1;
                Telling::InFull
            }
            None if full => Telling::AsOneMore,
            None => {
                self.0.insert(key, 1);
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
    }
}
