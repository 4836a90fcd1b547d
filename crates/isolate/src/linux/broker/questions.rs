//! Calls that wait: for a person's answer, or for the launcher's hand.

use super::act::{Answer, Handed};
use super::channel::Told;
use super::deeds::Deed;
use super::process::Broker;
use super::worker;
use crate::linux::sys::Held;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use stockade_policy::{Reply, ViolationKind};

/// Calls that may wait at once; the next is refused.
const MOST_WAITING: usize = 256;

/// What is asked about: an act and its path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Subject {
    pub(super) kind: ViolationKind,
    pub(super) path: PathBuf,
}

/// Waiting calls and standing grants.
#[derive(Default)]
pub(crate) struct Questions {
    next: u64,
    asked: HashMap<u64, Asked>,
    entrusted: HashMap<u64, Entrusted>,
    /// Allowed as long as the sandbox lives, until this moment if there is one.
    standing: HashSet<Subject>,
    until: HashMap<Subject, u64>,
}

struct Asked {
    held: Held,
    subject: Subject,
    granted: Vec<Subject>,
    errno: Errno,
}

struct Entrusted {
    held: Held,
    /// The call returns a descriptor, kept across exec or not.
    descriptor: Option<bool>,
}

impl Questions {
    /// Whether a standing grant covers this.
    pub(super) fn allows(&self, subject: &Subject) -> bool {
        self.standing.contains(subject)
            || self.until.get(subject).is_some_and(|until| *until > worker::now_ms())
    }

    /// Lets a call wait for an answer. Nothing when too many do.
    pub(super) fn ask(
        &mut self,
        held: &Held,
        subject: Subject,
        granted: &[Subject],
        errno: Errno,
    ) -> Option<u64> {
        if self.asked.len() + self.entrusted.len() >= MOST_WAITING {
            return None;
        }
        self.next += 1;
        self.asked.insert(self.next, Asked { held: *held, subject, granted: granted.to_vec(), errno });
        Some(self.next)
    }

    /// Lets a call wait for the launcher's hand. Nothing when too many do.
    pub(super) fn entrust(&mut self, held: &Held, deed: impl FnOnce() -> Deed) -> Option<(u64, Deed)> {
        if self.asked.len() + self.entrusted.len() >= MOST_WAITING {
            return None;
        }
        self.next += 1;
        let deed = deed();
        self.entrusted.insert(self.next, Entrusted { held: *held, descriptor: deed.descriptor() });
        Some((self.next, deed))
    }
}

impl Broker {
    /// Hears the launcher.
    pub(super) fn hear(self: &Arc<Self>, told: Told, descriptor: Option<OwnedFd>) {
        match told {
            Told::Reply { id, reply } => self.answered(id, reply),
            Told::Done { id, errno } => self.done(id, errno, descriptor),
            Told::WhoConnected { id, peer, destination } => self.say_who(id, peer, destination),
            Told::Network { version } => {
                if let Some(file) = descriptor {
                    self.change_network(version, file);
                }
            }
        }
    }

    fn answered(self: &Arc<Self>, id: u64, reply: Reply) {
        let Some(asked) = self.questions().asked.remove(&id) else { return };
        let Asked { held, subject, mut granted, errno } = asked;
        match reply {
            Reply::Deny => return Answer::Refused(errno).give(self, &held),
            Reply::Once => {}
            Reply::Session | Reply::Always => {
                self.questions().standing.insert(subject.clone());
            }
            Reply::Until { until } => {
                self.questions().until.insert(subject.clone(), until);
            }
        }
        // Judged from the start: what was allowed is this subject, not whatever the caller has written
        // into its memory while it waited.
        granted.push(subject);
        worker::answer(self, &held, &granted);
    }

    fn done(&self, id: u64, errno: i32, descriptor: Option<OwnedFd>) {
        let Some(entrusted) = self.questions().entrusted.remove(&id) else { return };
        let answer = match (errno, entrusted.descriptor, descriptor) {
            (0, None, _) => Answer::DONE,
            (0, Some(close_on_exec), Some(descriptor)) => {
                Answer::Descriptor(Handed { descriptor, close_on_exec, at: None })
            }
            (0, Some(_), None) => Answer::Refused(Errno::IO),
            (errno, ..) => Answer::Refused(Errno::from_raw_os_error(errno)),
        };
        answer.give(self, &entrusted.held);
    }
}
