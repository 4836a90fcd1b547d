//! Why a grant was not given, kept or taken back.

use crate::AuditError;
use crate::ledger::LedgerError;
use std::io;
use std::path::PathBuf;

/// A grant could not be given, kept or taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// Nobody may give it.
    #[error("{rule} cannot be granted away")]
    Forbidden {
        /// The rule that stands.
        rule: String,
    },
    /// No list of the settings would allow it.
    #[error("this cannot be allowed for good: {why}")]
    NotKeepable {
        /// Why not.
        why: String,
    },
    /// The end of the grant is in the past.
    #[error("the grant's end has passed already")]
    Over,
    /// The store keeps nothing beyond this process.
    #[error("there is no place to keep grants in")]
    NoPlace,
    /// The user's settings cannot be changed as they are.
    #[error("cannot change {}: {reason}\nhint: {hint}", path.display())]
    Settings {
        /// The settings file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// How to mend it.
        hint: &'static str,
    },
    /// The list of grants is not what Stockade writes.
    #[error("{} is not a list of grants: {source}\nhint: remove the file; permanent grants stay in your settings", path.display())]
    Broken {
        /// The list.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// It must be in the audit log, and cannot be written there.
    #[error("it would not be in the audit log: {0}")]
    Unlogged(AuditError),
    /// There is no such grant.
    #[error("there is no grant {id}\nhint: `stockade grants` lists them")]
    Unknown {
        /// The id that was asked for.
        id: String,
    },
}

impl From<LedgerError> for GrantError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Broken { path, source } => Self::Broken { path, source },
            LedgerError::Read { path, source } => Self::Read { path, source },
            LedgerError::Write { path, source } => Self::Write { path, source },
        }
    }
}
