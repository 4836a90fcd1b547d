//! Which refusals of a command are kept: the first ones, some of each kind and concern in any case, and the
//! newest. What lies between is counted.

use super::broker::{Shares, Telling};
use crate::Concern;
use std::collections::VecDeque;
use stockade_policy::Violation;

/// The newest beyond the first ones that are kept: what was refused last must not hide behind a flood.
const NEWEST: usize = 100;

/// The refusals of a command.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Those that have been told.
    told: Vec<Violation>,
    shares: Shares,
    /// The newest beyond those, which are told at the end.
    newest: VecDeque<Violation>,
    /// How many there are beyond all of these.
    more: u64,
    /// The very last.
    last: Option<Violation>,
}

impl Kept {
    /// Keeps a refusal; whether it is to be told now.
    pub(super) fn keep(&mut self, violation: &Violation, concern: Concern) -> Telling {
        self.last = Some(violation.clone());
        let telling = self.shares.take(violation.kind, concern, &violation.subject);
        match telling {
            Telling::InFull => self.told.push(violation.clone()),
            Telling::AsOneMore => {
                self.newest.push_back(violation.clone());
                if self.newest.len() > NEWEST {
                    self.newest.pop_front();
                    self.more += 1;
                }
            }
        }
        telling
    }

    /// Counts one that nobody can tell more about.
    pub(super) fn count(&mut self) {
        self.more += 1;
    }

    /// What was refused last.
    pub(super) fn last(&self) -> Option<&Violation> {
        self.last.as_ref()
    }

    /// Those that are still to be told, in order. They have been from now on.
    pub(super) fn untold(&mut self) -> Vec<Violation> {
        let untold: Vec<_> = std::mem::take(&mut self.newest).into();
        self.told.extend_from_slice(&untold);
        untold
    }

    /// All that are kept, in order, and how many there were besides. Begins anew.
    pub(super) fn take(&mut self) -> (Vec<Violation>, u64) {
        let Self { mut told, newest, more, .. } = std::mem::take(self);
        told.extend(newest);
        told.sort_by_key(|violation| violation.seq);
        (told, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade_policy::ViolationKind;

    fn violation(seq: u64, kind: ViolationKind) -> Violation {
        Violation {
            seq,
            time: 0,
            sandbox: String::new(),
            command: String::new(),
            pid: 1,
            program: None,
            kind,
            subject: format!("junk{seq}.test:443"),
            reason: String::new(),
            rule: None,
            suggestion: None,
        }
    }

    fn keep(kept: &mut Kept, seq: u64, concern: Concern) -> Telling {
        kept.keep(&violation(seq, ViolationKind::Connect), concern)
    }

    #[test]
    fn the_first_and_the_newest_are_kept() {
        let mut kept = Kept::default();
        let told = (1..=3000).filter(|seq| keep(&mut kept, *seq, Concern::Reach) == Telling::InFull);
        let told = told.count() as u64;
        assert!((500..2000).contains(&told));
        // Another kind comes after the flood and is told at once.
        assert_eq!(kept.keep(&violation(3001, ViolationKind::Read), Concern::Reach), Telling::InFull);
        assert_eq!(keep(&mut kept, 3002, Concern::Reach), Telling::AsOneMore);
        kept.count();
        assert_eq!(kept.last().map(|last| last.seq), Some(3002));
        let untold: Vec<u64> = kept.untold().iter().map(|one| one.seq).collect();
        let newest: Vec<u64> = (2902..=3000).chain([3002]).collect();
        assert_eq!(untold, newest);
        assert_eq!(kept.untold(), []);
        let (all, more) = kept.take();
        let all: Vec<u64> = all.iter().map(|one| one.seq).collect();
        assert_eq!(all, (1..=told).chain(2902..=3002).collect::<Vec<_>>());
        assert_eq!(more, 3003 - all.len() as u64);
        assert_eq!(kept.take(), (vec![], 0));
    }

    /// What is about something else than the flood is told, though it is of the same kind.
    #[test]
    fn a_flood_hides_no_other_concern() {
        let mut kept = Kept::default();
        (1..=1500).for_each(|seq| {
            keep(&mut kept, seq, Concern::Reach);
        });
        for (seq, concern) in [(1501, Concern::Secret), (1502, Concern::Address), (1503, Concern::Agreement)]
        {
            assert_eq!(keep(&mut kept, seq, concern), Telling::InFull, "{concern:?}");
        }
        (1504..=3000).for_each(|seq| {
            keep(&mut kept, seq, Concern::Reach);
        });
        let (all, _) = kept.take();
        assert!((1501..=1503).all(|seq| all.iter().any(|one| one.seq == seq)));
    }
}
