//! The list of trusted files: `trust.json` in Stockade's state directory, for its owner alone.

use super::{TrustError, TrustedFile};
use crate::grants::replace;
use crate::private;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whoever holds the list writes one small file.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where the list is.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    directory: PathBuf,
}

/// The list, while nobody else may change it.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    pub(super) content: Content,
    _lock: OwnedFd,
}

/// What stands in the file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Content {
    pub(super) trusted: Vec<TrustedFile>,
}

impl Ledger {
    pub(super) fn new(state: &Path) -> Self {
        Self { directory: state.to_owned() }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.join("trust.json")
    }

    /// The list as it is now. It is only ever replaced as a whole, so that no lock is needed to read it.
    pub(super) fn read(&self) -> Result<Content, TrustError> {
        let path = self.path();
        match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|source| TrustError::Broken { path, source }),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Content::default())
            }
            Err(source) => Err(TrustError::Read { path, source }),
        }
    }

    /// The list for changing; waits for others who do.
    pub(super) fn hold(&self) -> Result<Held, TrustError> {
        let lock_path = self.directory.join("trust.lock");
        let lock = private::directory(&self.directory)
            .and_then(|()| private::hold(&lock_path, PATIENCE))
            .map_err(|source| TrustError::Write { path: lock_path, source })?;
        Ok(Held { content: self.read()?, path: self.path(), _lock: lock })
    }
}

impl Held {
    /// Writes the list.
    pub(super) fn save(&self) -> Result<(), TrustError> {
        let written =
            serde_json::to_vec_pretty(&self.content).map_err(io::Error::from).and_then(|mut text| {
                text.push(b'\n');
                replace(&self.path, &text)
            });
        written.map_err(|source| TrustError::Write { path: self.path.clone(), source })
    }
}
