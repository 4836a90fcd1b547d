//! Refusals that outlive the run: `violations.db` in the state directory.
//!
//! An embedded database, because people ask for refusals by time, kind, path and sandbox, several processes
//! write at once, and whoever runs the machine may want to look with tools of their own (the file is plain
//! SQLite with one table). A run writes once, in one transaction; a run without refusals does not touch
//! the file.
//!
//! The store is bounded: by age, by rows, by size, and by rows of one sandbox, so that one command cannot
//! push out what others did. It lies where no sandboxed command can see it.

mod database;
mod error;
mod filter;
mod ignore;
mod pattern;
mod retention;
mod store;
#[cfg(test)]
mod tests;

pub use error::StoreError;
pub use filter::{Filter, Hidden};
pub use ignore::IgnoreList;
pub use pattern::SubjectPattern;
pub use retention::Retention;
pub use store::{Cleared, Counts, Recorded, StoredViolation, ViolationStore};
