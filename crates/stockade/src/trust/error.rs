//! Why a file was not trusted, or could not be looked up.

use crate::ledger::LedgerError;
use std::io;
use std::path::PathBuf;

/// The list of trusted files could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The file that is to be trusted cannot be read.
    #[error("cannot read {}: {source}\nhint: name a settings file that is there and that you may read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not what was looked at.
    #[error("{} has changed while it was looked at; it was not trusted\nhint: read it again, then trust it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The list is not what Stockade writes.
    #[error("{} is not a list of trusted files: {source}\nhint: remove the file, then trust again what you want trusted", path.display())]
    Broken {
        /// The list.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// The list cannot be read.
    #[error("cannot read {}: {source}\nhint: it should be a file of your own", path.display())]
    Read {
        /// The list.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The list cannot be written.
    #[error("cannot write {}: {source}\nhint: the directory must be yours to write", path.display())]
    Write {
        /// The list.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing to take back.
    #[error("{} is not trusted\nhint: `stockade config trust --list` lists what is", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
}

impl From<LedgerError> for TrustError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Broken { path, source } => Self::Broken { path, source },
            LedgerError::Read { path, source } => Self::Read { path, source },
            LedgerError::Write { path, source } => Self::Write { path, source },
        }
    }
}
