//! What becomes of a held call.

use super::process::Broker;
use crate::linux::sys::Held;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;

/// The answer to a held call.
#[derive(Debug)]
pub(super) enum Answer {
    /// It was done, and returns this.
    Value(i64),
    /// It fails.
    Refused(Errno),
    /// The kernel does it: whatever stands in the caller's memory by then, the walls decide alike.
    GoOn,
    /// It returns a descriptor.
    Descriptor(Handed),
    /// It waits: for a person, for the launcher, for the other end of a pipe.
    Later,
}

/// A descriptor for the caller.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) descriptor: OwnedFd,
    pub(super) close_on_exec: bool,
    /// A number of its own, where the broker wants to see it closed.
    pub(super) at: Option<u32>,
}

impl Answer {
    pub(super) const DONE: Self = Self::Value(0);

    /// Gives the answer.
    pub(super) fn give(self, broker: &Broker, held: &Held) {
        let listener = &broker.listener;
        let given = match self {
            Self::Value(value) => listener.answer(held.id, value),
            Self::Refused(errno) => listener.refuse(held.id, errno),
            Self::GoOn => listener.go_on(held.id),
            Self::Later => Ok(()),
            Self::Descriptor(handed) => {
                let given =
                    listener.hand_over(held.id, handed.descriptor.as_fd(), handed.at, handed.close_on_exec);
                match given {
                    // Its table is full, or the number is beyond its limit: that is its own affair.
                    Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::BADF | Errno::NOMEM)) => {
                        let errno = if errno == Errno::BADF { Errno::MFILE } else { errno };
                        listener.refuse(held.id, errno)
                    }
                    other => other,
                }
            }
        };
        // The caller died meanwhile.
        let _ = given;
    }
}
