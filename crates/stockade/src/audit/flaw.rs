//! What can be wrong with the log.

use std::fmt;
use std::path::PathBuf;

/// Something wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; the one that should follow where lines are missing at the end.
    pub line: u64,
    /// What it is.
    pub flaw: Flaw,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.file.display(), self.line, self.flaw)
    }
}

/// What is wrong with a line, or with the place where one should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// It is not a line of the log.
    #[error("this is not a line of the audit log")]
    Unreadable,
    /// Its content does not fit its hash.
    #[error("line {seq} was changed: its content does not fit its hash")]
    Changed {
        /// Its number.
        seq: u64,
    },
    /// It does not continue the line before.
    #[error("line {seq} does not follow the line before it: one of them was replaced")]
    Unchained {
        /// Its number.
        seq: u64,
    },
    /// Lines before it are gone.
    #[error("lines {from} to {to} are missing")]
    Missing {
        /// The first that is gone.
        from: u64,
        /// The last.
        to: u64,
    },
    /// It stands where another should.
    #[error("line {seq} stands where line {expected} should: lines were moved or repeated")]
    OutOfOrder {
        /// Its number.
        seq: u64,
        /// The number that should be there.
        expected: u64,
    },
    /// The file ends within the line.
    #[error("this line was never finished")]
    Unfinished,
    /// The log is longer by its head.
    #[error("the end was cut off: lines {from} to {to} are missing")]
    CutOff {
        /// The first that is gone.
        from: u64,
        /// The last.
        to: u64,
    },
    /// The head names another line.
    #[error("line {seq} is not the one that audit.head remembers")]
    NotTheHead {
        /// Its number.
        seq: u64,
    },
    /// The head is gone.
    #[error("audit.head is missing: nobody can tell whether the end was cut off")]
    HeadMissing,
    /// The head is damaged.
    #[error("audit.head cannot be read: nobody can tell whether the end was cut off")]
    HeadUnreadable,
    /// Lines that should follow were never written.
    #[error("{count} {} could not be written: the disk may have been full", if *count == 1 { "line" } else { "lines" })]
    Unwritten {
        /// How many.
        count: u64,
    },
    /// A writer found the log in disorder and went on.
    #[error("a writer noted a gap here: {note}")]
    Gap {
        /// What it found.
        note: String,
    },
}
