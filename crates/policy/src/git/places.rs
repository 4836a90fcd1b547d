//! Where things are.

use std::path::{Path, PathBuf};

/// What the checks have to know about the machine. All paths are absolute, free of links and of `..`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitPlaces {
    /// Directories that may be written: git directories below them are protected.
    pub writable: Vec<PathBuf>,
    /// Directories that only the sandbox sees.
    pub private: Vec<PathBuf>,
    /// The git directory a configuration belongs to: the directory it lies in.
    pub git_directory: PathBuf,
}

impl GitPlaces {
    pub(super) fn in_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|root| path.starts_with(root))
    }

    pub(super) fn in_private(&self, path: &Path) -> bool {
        self.private.iter().any(|root| path.starts_with(root))
    }
}
