//! Which content of which file is trusted.

use super::{ContentDigest, TrustError};
use crate::ledger::Ledger;
use crate::private::now;
use crate::{Directories, RealFiles};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use stockade_policy::Files;

/// The user's list of trusted settings files. Trust is for one content in one place: another content there,
/// or the same content elsewhere, where its paths mean something else, is not trusted.
#[derive(Clone, Debug)]
pub struct TrustStore {
    ledger: Ledger<Content>,
}

/// A file whose content was trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustedFile {
    /// Where it is, without links.
    pub path: PathBuf,
    /// What it held.
    pub sha256: ContentDigest,
    /// When it was trusted, in milliseconds since 1970.
    pub when: u64,
}

/// How a file's content stands to what was trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// Nobody trusted this file.
    Unknown,
    /// It holds what was trusted.
    Trusted,
    /// It holds something else than what was trusted.
    Changed,
    /// It was trusted, and is not there any more, or cannot be read.
    Gone,
}

/// What stands in `trust.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Content {
    trusted: Vec<TrustedFile>,
}

/// The list at one moment.
#[derive(Debug, Default)]
pub(crate) struct Trusting(Vec<TrustedFile>);

impl Trusting {
    /// How this content of this file stands.
    pub(crate) fn standing(&self, path: &Path, content: &[u8]) -> Standing {
        let path = place(path);
        match self.0.iter().find(|known| known.path == path) {
            None => Standing::Unknown,
            Some(known) if known.sha256 == ContentDigest::of(content) => Standing::Trusted,
            Some(_) => Standing::Changed,
        }
    }
}

impl TrustStore {
    /// The list in Stockade's state directory.
    pub fn new(directories: &Directories) -> Self {
        Self { ledger: Ledger::new(&directories.state, "trust") }
    }

    /// Where the list is.
    pub fn path(&self) -> PathBuf {
        self.ledger.path()
    }

    /// Trusts a file with this content, which somebody has looked at. Whatever was trusted of the file before
    /// is not any more.
    pub fn trust(&self, path: &Path, content: &[u8]) -> Result<TrustedFile, TrustError> {
        let failed = |source| TrustError::File { path: path.to_owned(), source };
        let place = RealFiles.resolve(path).map_err(failed)?;
        if RealFiles.read(&place).map_err(failed)? != content {
            return Err(TrustError::Changed { path: path.to_owned() });
        }
        let trusted = TrustedFile { path: place, sha256: ContentDigest::of(content), when: now() };
        let mut held = self.ledger.hold()?;
        held.content.trusted.retain(|known| known.path != trusted.path);
        held.content.trusted.push(trusted.clone());
        held.save()?;
        Ok(trusted)
    }

    /// Takes the trust in a file back, whatever it holds now and whether or not it is still there.
    pub fn revoke(&self, path: &Path) -> Result<TrustedFile, TrustError> {
        let wanted = place(path);
        let mut held = self.ledger.hold()?;
        let known = held.content.trusted.iter().position(|known| known.path == wanted);
        let Some(known) = known else { return Err(TrustError::Unknown { path: path.to_owned() }) };
        let gone = held.content.trusted.remove(known);
        held.save()?;
        Ok(gone)
    }

    /// Everything that was trusted, and how it stands now.
    pub fn list(&self) -> Result<Vec<(TrustedFile, Standing)>, TrustError> {
        let trusted = self.ledger.read()?.trusted;
        let standing = |file: &TrustedFile| match RealFiles.read(&file.path) {
            Ok(content) if ContentDigest::of(&content) == file.sha256 => Standing::Trusted,
            Ok(_) => Standing::Changed,
            Err(_) => Standing::Gone,
        };
        Ok(trusted.into_iter().map(|file| (file.clone(), standing(&file))).collect())
    }

    /// How this content of a file stands.
    pub fn standing(&self, path: &Path, content: &[u8]) -> Result<Standing, TrustError> {
        Ok(self.trusting()?.standing(path, content))
    }

    /// The list as it is now.
    pub(crate) fn trusting(&self) -> Result<Trusting, TrustError> {
        Ok(Trusting(self.ledger.read()?.trusted))
    }
}

/// A path as the list has it. A file that is gone is known by its directory.
fn place(path: &Path) -> PathBuf {
    let found = std::fs::canonicalize(path);
    let absent = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    match (found, path.parent(), path.file_name()) {
        (Ok(found), ..) => found,
        (Err(error), Some(above), Some(name)) if absent(&error) => {
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            std::fs::canonicalize(above).map_or_else(|_| path.to_owned(), |above| above.join(name))
        }
        _ => path.to_owned(),
    }
}
