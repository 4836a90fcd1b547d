//! Why refusals could not be stored or read.

use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// The store of refusals could not be used. The command itself ran as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The directory or the file cannot be made.
    #[error("could not make the store of refusals {}: {source}\nhint: its directory must be writable, or set XDG_STATE_HOME to one that is", path.display())]
    Make {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is there and cannot be opened.
    #[error("could not open the store of refusals {}: {source}\nhint: the file and its directory must be readable and writable by you", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the database said.
        source: rusqlite::Error,
    },
    /// The file or its directory may only be read.
    #[error("could not write the store of refusals {}: it is read-only: {source}\nhint: make the file and its directory writable", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// What the database said.
        source: rusqlite::Error,
    },
    /// There is no room left.
    #[error("could not write the store of refusals {}: no space left: {source}\nhint: free some space; `stockade violations --clear` empties the store", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What the database said.
        source: rusqlite::Error,
    },
    /// Another process did not let go in time.
    #[error("the store of refusals {} is locked by another process\nhint: try again; somebody may have it open in a transaction", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged, or no database at all.
    #[error("the store of refusals {} is damaged: {source}\nhint: the next refusal sets it aside and begins a new one; `stockade violations --clear` does so now", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the database said.
        source: rusqlite::Error,
    },
    /// A damaged file cannot be moved out of the way.
    #[error("the store of refusals {} is damaged and could not be set aside: {source}\nhint: remove it by hand", path.display())]
    SetAside {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file was made by another version.
    #[error("the store of refusals {} has the form {found}, and this version knows {known}\nhint: a newer Stockade wrote it; use that one, or move the file away", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The form it has.
        found: i64,
        /// The form this version writes.
        known: i64,
    },
    /// Anything else the database said.
    #[error("could not use the store of refusals {}: {source}", path.display())]
    Use {
        /// The file.
        path: PathBuf,
        /// What the database said.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// What an error of the database means for a person.
    pub(super) fn told(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { path, source },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::DiskFull) => Self::Full { path, source },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path, source },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Self::Open { path, source },
            _ => Self::Use { path, source },
        }
    }
}
