//! A list that outlives a process: one JSON file in Stockade's state directory, for its owner alone.

use crate::grants::replace;
use crate::private;
use serde::{Serialize, de::DeserializeOwned};
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whoever holds a list writes a small file or two; a disk that takes longer than this has another problem.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a list is.
#[derive(Clone, Debug)]
pub(crate) struct Ledger<Content> {
    directory: PathBuf,
    name: &'static str,
    content: PhantomData<fn() -> Content>,
}

/// A list, while nobody else may change it.
#[derive(Debug)]
pub(crate) struct Held<Content> {
    path: PathBuf,
    pub(crate) content: Content,
    _lock: OwnedFd,
}

/// Why a list cannot be used.
#[derive(Debug)]
pub(crate) enum LedgerError {
    /// It is not what Stockade writes.
    Broken { path: PathBuf, source: serde_json::Error },
    /// It cannot be read.
    Read { path: PathBuf, source: io::Error },
    /// It cannot be held or written.
    Write { path: PathBuf, source: io::Error },
}

impl<Content: Default + Serialize + DeserializeOwned> Ledger<Content> {
    /// The list of this name in the state directory.
    pub(crate) fn new(state: &Path, name: &'static str) -> Self {
        Self { directory: state.to_owned(), name, content: PhantomData }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join(format!("{}.json", self.name))
    }

    /// The list as it is now. It is only ever replaced as a whole, so that no lock is needed to read it.
    pub(crate) fn read(&self) -> Result<Content, LedgerError> {
        let path = self.path();
        match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|source| LedgerError::Broken { path, source }),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Content::default())
            }
            Err(source) => Err(LedgerError::Read { path, source }),
        }
    }

    /// The list for changing; waits for others who do.
    pub(crate) fn hold(&self) -> Result<Held<Content>, LedgerError> {
        let lock_path = self.directory.join(format!("{}.lock", self.name));
        let lock = private::directory(&self.directory)
            .and_then(|()| private::hold(&lock_path, PATIENCE))
            .map_err(|source| LedgerError::Write { path: lock_path, source })?;
        Ok(Held { content: self.read()?, path: self.path(), _lock: lock })
    }
}

impl<Content: Serialize> Held<Content> {
    /// Writes the list.
    pub(crate) fn save(&self) -> Result<(), LedgerError> {
        let written =
            serde_json::to_vec_pretty(&self.content).map_err(io::Error::from).and_then(|mut text| {
                text.push(b'\n');
                replace(&self.path, &text)
            });
        written.map_err(|source| LedgerError::Write { path: self.path.clone(), source })
    }
}
