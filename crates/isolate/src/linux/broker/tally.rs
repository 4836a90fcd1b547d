//! Which refusals are told. A command that tries the same thing ten thousand times is told about in a bounded
//! number of records and a count.

use crate::Concern;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use stockade_policy::ViolationKind;

/// Different subjects told about, whatever they are; what comes after is counted.
const MOST: usize = 1000;
/// Of each kind and concern so many are told in any case: a flood of one must not hide the others.
const LEAST_OF_KIND: usize = 50;
/// Times the same refusal is told.
const MOST_OF_ONE: u32 = 100;

/// Times that are noted for datagrams to a place once a known program has sent one.
const BY_KNOWN: u32 = 2;

/// A sandbox may live for days: what was told before this is no part of a flood.
const MEMORY: Duration = Duration::from_secs(60);

/// What has been told already.
#[derive(Default)]
pub(crate) struct Tally {
    told: HashMap<(ViolationKind, String), u32>,
    shares: Shares,
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

/// Who sent a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender<'a> {
    /// This program.
    Known(&'a str),
    Unknown,
}

impl<'a> Sender<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Known(program) => program,
            Self::Unknown => "",
        }
    }
}

/// Whether there is room to remember a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Yes,
    /// It was told often enough.
    NotForThis,
    /// No more subjects are remembered.
    NotForOthers,
}

/// How many records there are, of which kind, and what they are about.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    all: usize,
    of_kind: HashMap<(ViolationKind, Carrier, Concern), usize>,
}

/// What a refusal came by, where one way can be flooded without the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Carrier {
    Datagram,
    Other,
}

impl Shares {
    /// Whether there is room for one more record about this. It is taken from now on.
    pub(crate) fn take(&mut self, kind: ViolationKind, concern: Concern, subject: &str) -> Telling {
        let carrier = if subject.ends_with("/udp") { Carrier::Datagram } else { Carrier::Other };
        let of_kind = self.of_kind.entry((kind, carrier, concern)).or_default();
        if self.all >= MOST && *of_kind >= LEAST_OF_KIND {
            return Telling::AsOneMore;
        }
        self.all += 1;
        *of_kind += 1;
        Telling::InFull
    }
}

impl Tally {
    /// A subject that nobody heard of is told in any case: whoever keeps records keeps the newest, too.
    pub(crate) fn of(&mut self, kind: ViolationKind, subject: &str) -> Telling {
        match self.room(kind, (subject, ""), MOST_OF_ONE, Instant::now()) {
            Room::Yes | Room::NotForOthers => Telling::InFull,
            Room::NotForThis => Telling::AsOneMore,
        }
    }

    /// For what programs repeat by themselves, like datagrams: only the first of each program is told.
    pub(crate) fn first_of(&mut self, kind: ViolationKind, subject: &str, program: &str) -> Telling {
        match self.room(kind, (subject, program), 1, Instant::now()) {
            Room::Yes => Telling::InFull,
            Room::NotForThis | Room::NotForOthers => Telling::AsOneMore,
        }
    }

    /// A lookup of a program: resolvers ask more than once, and that is the same lookup. Nothing for those.
    pub(crate) fn lookup(&mut self, subject: &str, program: &str) -> Option<Telling> {
        match self.room(ViolationKind::Resolve, (subject, program), 1, Instant::now()) {
            Room::Yes => Some(Telling::InFull),
            Room::NotForThis => None,
            Room::NotForOthers => Some(Telling::AsOneMore),
        }
    }

    /// The first datagram of a program to a place. One whose sender is not known is taken for one of a known
    /// sender to the same place, where there was one.
    pub(crate) fn datagram(&mut self, subject: &str, sender: Sender<'_>) -> Telling {
        let telling = self.first_of(ViolationKind::Connect, subject, sender.name());
        if let (Telling::InFull, Sender::Known(_)) = (telling, sender) {
            self.told.insert(of_anybody(subject), BY_KNOWN);
        }
        telling
    }

    /// The same for one that was to be told in full, once its sender was looked for.
    pub(crate) fn datagram_after_all(&mut self, subject: &str, sender: Sender<'_>) -> Telling {
        let is_told = match sender {
            Sender::Unknown => self.told.get(&of_anybody(subject)) == Some(&BY_KNOWN),
            Sender::Known(program) => {
                self.told.insert(of_anybody(subject), BY_KNOWN);
                let key = (ViolationKind::Connect, format!("{subject} {program}"));
                !program.is_empty() && self.told.insert(key, 1).is_some()
            }
        };
        if is_told { Telling::AsOneMore } else { Telling::InFull }
    }

    fn room(
        &mut self,
        kind: ViolationKind,
        (subject, program): (&str, &str),
        most: u32,
        now: Instant,
    ) -> Room {
        if self.begun.is_none_or(|begun| now.duration_since(begun) > MEMORY) {
            self.begun = Some(now);
            self.told.clear();
            self.shares = Shares::default();
        }
        let key = (kind, format!("{subject} {program}"));
        match self.told.get_mut(&key) {
            Some(times) if *times >= most => Room::NotForThis,
            Some(times) => {
                *times += 1;
                Room::Yes
            }
            None if self.shares.take(kind, Concern::default(), subject) == Telling::InFull => {
                self.told.insert(key, 1);
                Room::Yes
            }
            None => Room::NotForOthers,
        }
    }
}

/// What stands for datagrams to a place, whoever sent them.
fn of_anybody(subject: &str) -> (ViolationKind, String) {
    (ViolationKind::Connect, format!("{subject} "))
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
        // Each other subject is told, and not all of them are remembered.
        let names = (0..5000).map(|number| format!("/{number}"));
        let told = names.filter(|name| tally.of(ViolationKind::Read, name) == Telling::InFull).count();
        assert_eq!((told, tally.told.len()), (5000, MOST));
        let later = Instant::now() + 2 * MEMORY;
        assert_eq!(tally.room(ViolationKind::Read, ("/x", ""), MOST_OF_ONE, later), Room::Yes);
        assert_eq!(tally.room(ViolationKind::Read, ("/another", ""), MOST_OF_ONE, later), Room::Yes);
    }

    #[test]
    fn what_programs_repeat_is_told_once() {
        let mut tally = Tally::default();
        assert_eq!(tally.first_of(ViolationKind::Connect, "a:443/udp", ""), Telling::InFull);
        assert_eq!(tally.first_of(ViolationKind::Connect, "a:443/udp", ""), Telling::AsOneMore);
        assert_eq!(tally.first_of(ViolationKind::Connect, "b:443/udp", ""), Telling::InFull);
    }

    #[test]
    fn a_flood_of_one_kind_leaves_room_for_the_others() {
        let mut tally = Tally::default();
        let told = (0..5000).filter(|port| {
            tally.first_of(ViolationKind::Connect, &format!("a:{port}/udp"), "") == Telling::InFull
        });
        assert_eq!(told.count(), MOST);
        for (kind, subject) in [
            (ViolationKind::Connect, "a:443"),
            (ViolationKind::Resolve, "evil.test"),
            (ViolationKind::Read, "/secret"),
        ] {
            assert_eq!(tally.of(kind, subject), Telling::InFull, "{subject}");
        }
        let mut shares = Shares::default();
        let told =
            (0..5000).filter(|_| shares.take(ViolationKind::Read, Concern::Reach, "/x") == Telling::InFull);
        assert_eq!(told.count(), MOST);
        let told =
            (0..5000).filter(|_| shares.take(ViolationKind::Resolve, Concern::Reach, "n") == Telling::InFull);
        assert_eq!(told.count(), LEAST_OF_KIND);
        assert_eq!(tally.of(ViolationKind::Write, "/x"), Telling::InFull);
    }

    #[test]
    fn datagrams_of_nobody_known_are_those_of_somebody_known() {
        let (one, other) = (Sender::Known("/bin/one"), Sender::Known("/bin/other"));
        let mut tally = Tally::default();
        assert_eq!(tally.datagram("a:443/udp", one), Telling::InFull);
        assert_eq!(tally.datagram("a:443/udp", Sender::Unknown), Telling::AsOneMore);
        assert_eq!(tally.datagram("a:443/udp", other), Telling::InFull);
        // Who it was turns out later, or what another one did in the meantime.
        assert_eq!(tally.datagram("b:443/udp", Sender::Unknown), Telling::InFull);
        assert_eq!(tally.datagram("b:443/udp", Sender::Unknown), Telling::AsOneMore);
        assert_eq!(tally.datagram_after_all("b:443/udp", one), Telling::InFull);
        assert_eq!(tally.datagram("b:443/udp", one), Telling::AsOneMore);
        assert_eq!(tally.datagram("c:443/udp", Sender::Unknown), Telling::InFull);
        assert_eq!(tally.datagram("c:443/udp", one), Telling::InFull);
        assert_eq!(tally.datagram_after_all("c:443/udp", one), Telling::AsOneMore);
        assert_eq!(tally.datagram("d:443/udp", Sender::Unknown), Telling::InFull);
        assert_eq!(tally.datagram_after_all("d:443/udp", Sender::Unknown), Telling::InFull);
        assert_eq!(tally.datagram("e:443/udp", Sender::Unknown), Telling::InFull);
        assert_eq!(tally.datagram("e:443/udp", other), Telling::InFull);
        assert_eq!(tally.datagram_after_all("e:443/udp", Sender::Unknown), Telling::AsOneMore);
    }
}
