//! Bare repositories in the directories where git would be run first.
//!
//! A directory with `HEAD`, `objects` and `refs` in it is a repository for git whatever its name, and its
//! settings and hooks act on whoever runs git there. Looking for that in two directories costs nothing, so
//! that it is done without being asked.

use super::compare::bare_item;
use std::fs::symlink_metadata;
use std::path::{Path, PathBuf};
use stockade_policy::ReviewItem;

/// Directories that were no repositories before a run.
#[derive(Clone, Debug)]
pub struct BareWatch {
    directories: Vec<PathBuf>,
}

impl BareWatch {
    /// Looks at these directories as they are now.
    pub fn before(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut directories: Vec<PathBuf> =
            directories.into_iter().filter(|directory| !is_repository(directory)).collect();
        directories.sort();
        directories.dedup();
        Self { directories }
    }

    /// Those that git would take for repositories now.
    pub fn after(&self) -> Vec<ReviewItem> {
        let appeared = self.directories.iter().filter(|directory| is_repository(directory));
        appeared.map(|directory| bare_item(directory)).collect()
    }
}

/// Links count: git follows them.
fn is_repository(directory: &Path) -> bool {
    let stands = |name: &str| symlink_metadata(directory.join(name)).is_ok();
    stands("HEAD") && stands("objects") && stands("refs")
}
