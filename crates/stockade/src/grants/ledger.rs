//! The list of grants that outlive a process: `grants.json` in Stockade's state directory.

use super::GrantError;
use super::grant::Grant;
use super::replace::replace;
use crate::private;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whoever holds the list writes two small files; a disk that takes longer than this has another problem.
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
    /// How many ids were given away: none is used twice.
    #[serde(default)]
    given: u64,
    pub(super) grants: Vec<Grant>,
}

impl Content {
    /// An id nobody has had.
    pub(super) fn next_id(&mut self) -> String {
        self.given += 1;
        format!("g{}", self.given)
    }
}

impl Ledger {
    pub(super) fn new(state: &Path) -> Self {
        Self { directory: state.to_owned() }
    }

    /// The list as it is now. It is only ever replaced as a whole, so that no lock is needed to read it.
    pub(super) fn read(&self) -> Result<Content, GrantError> {
        read(&self.path())
    }

    /// The list for changing; waits for others who do.
    pub(super) fn hold(&self) -> Result<Held, GrantError> {
        let lock_path = self.directory.join("grants.lock");
        let lock = private::directory(&self.directory)
            .and_then(|()| private::hold(&lock_path, PATIENCE))
            .map_err(|source| GrantError::Write { path: lock_path, source })?;
        let path = self.path();
        Ok(Held { content: read(&path)?, path, _lock: lock })
    }

    fn path(&self) -> PathBuf {
        self.directory.join("grants.json")
    }
}

impl Held {
    /// Writes the list, without what has ended.
    pub(super) fn save(&mut self, now: u64) -> Result<(), GrantError> {
        self.content.grants.retain(|grant| grant.lasts(now));
        let written =
            serde_json::to_vec_pretty(&self.content).map_err(io::Error::from).and_then(|mut text| {
                text.push(b'\n');
                replace(&self.path, &text)
            });
        written.map_err(|source| GrantError::Write { path: self.path.clone(), source })
    }
}

fn read(path: &Path) -> Result<Content, GrantError> {
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map_err(|source| GrantError::Broken { path: path.to_owned(), source }),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Content::default())
        }
        Err(source) => Err(GrantError::Read { path: path.to_owned(), source }),
    }
}
