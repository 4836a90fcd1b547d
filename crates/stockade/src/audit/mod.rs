//! The audit log: `audit.jsonl` in the state directory, one JSON line per decision that matters, each
//! chained to the one before by its hash.
//!
//! A line is `{"seq":…,"time":…,"kind":…, … ,"prev":"…","hash":"…"}`. `hash` is the SHA-256 of `prev` (64
//! hexadecimal digits) followed by the line as it stands with `,"hash":"…"` cut out; `prev` is the `hash` of
//! the line before, or zeros at the very beginning.
//!
//! **Writing.** A writer locks `audit.head`, reads the end of the log, and appends with a single `write`, so
//! that a process killed at any moment leaves a line whole or not at all; when [`AuditLog::append`] returns,
//! the line is with the kernel. What did not fit on a full disk is taken back; where even that fails, the
//! next writer ends the unfinished line and says so in a `gap` line.
//!
//! **The head.** A chain by itself does not show that its end was cut off. `audit.head` holds the number and
//! hash of the last line, replaced in place after the line is written: a process killed between the two
//! leaves a head that lags behind a longer, sound chain, never one that is ahead. A head that is ahead means
//! that lines are gone; the next writer notes it in a `gap` line. The head also holds the first line that
//! must be there, so that the removal of the oldest file is found too.
//!
//! **Rotation.** A file that is full becomes `audit.jsonl.1`, that one `.2`, and so on. The chain runs on: the
//! first line of the new file carries the last hash of the old one.
//!
//! **What it does not promise.** Whoever can write these files as the same user can compute the whole chain
//! anew, head included. Inside a sandbox the directory is hidden and cannot be written, so no sandboxed
//! command can; the user, and whatever runs without walls, can. Copy the head elsewhere to hold more than
//! that. After a loss of power the last lines may be missing unless [`Durability::Power`] was asked for.

mod error;
mod event;
mod files;
mod flaw;
mod head;
mod kept;
mod line;
mod log;
mod read;
mod rotation;
mod tail;
#[cfg(test)]
mod tests;
mod verify;

pub use error::AuditError;
pub use event::{AuditEvent, AuditKind, Lost, Unfinished, policy_digest};
pub use flaw::{Finding, Flaw};
pub use log::{Appended, AuditLog, Durability};
pub use read::{AuditLine, AuditRecord};
pub use rotation::Rotation;
pub use verify::Verified;
