//! What a run left below the workspace that the host may execute later.
//!
//! Walls keep a command from acting elsewhere; a file it may write is still read by somebody afterwards. A
//! review looks at the workspace before and after and tells what would be executed without anybody naming
//! it: hooks, scripts, pipelines, settings of agents and editors, programs found by name. Which names count
//! is data, `profiles/review.json`.
//!
//! ```
//! use stockade::{Review, ReviewChange, ReviewKind};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let place = tempfile::tempdir()?;
//! # let workspace = place.path();
//! std::fs::write(workspace.join("package.json"), r#"{"scripts": {"test": "mocha"}}"#)?;
//! let review = Review::before(workspace)?;
//! std::fs::write(workspace.join("package.json"), r#"{"scripts": {"test": "mocha", "postinstall": "./x"}}"#)?;
//! std::fs::write(workspace.join("main.c"), "int main;")?;
//!
//! let items = review.after();
//! assert_eq!(items.len(), 1);
//! assert_eq!((items[0].kind, items[0].change), (ReviewKind::PackageScript, ReviewChange::Changed));
//! assert_eq!(items[0].detail, "new scripts.postinstall: \"./x\"");
//! # Ok(())
//! # }
//! ```

mod bare;
mod catalogue;
mod compare;
mod ground;
mod lead;
mod look;
mod names;
#[cfg(test)]
mod tests;
mod walk;

pub use bare::BareWatch;

use catalogue::Catalogue;
use ground::Ground;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use stockade_policy::ReviewItem;
use walk::{Snapshot, walk};

/// A workspace as it was before a run.
///
/// Each look takes four seconds at most; what was not seen in that time is told as
/// [`ReviewKind::Incomplete`](crate::ReviewKind::Incomplete).
#[derive(Debug)]
pub struct Review {
    ground: Ground,
    catalogue: Catalogue,
    search_path: Vec<PathBuf>,
    before: Snapshot,
}

/// What a review looks at.
#[derive(Clone, Debug)]
pub struct ReviewScope {
    workspace: PathBuf,
    upper: Option<PathBuf>,
    search_path: Vec<PathBuf>,
}

/// A workspace cannot be reviewed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReviewError {
    /// It cannot be opened.
    #[error("cannot review {}: {source}\nhint: the workspace has to be a directory that can be listed", path.display())]
    Workspace {
        /// The workspace.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ReviewScope {
    /// Everything below a workspace.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self { workspace: workspace.into(), upper: None, search_path: Vec::new() }
    }

    /// The directory that an overlay keeps the workspace's changes in: the review looks at both as commands
    /// see them, one over the other.
    pub fn overlay(mut self, upper: impl Into<PathBuf>) -> Self {
        self.upper = Some(upper.into());
        self
    }

    /// The caller's search path: programs that appear in its directories inside the workspace are found by
    /// their names alone. Relative directories are meant as seen from the workspace.
    pub fn search_path(mut self, path: &OsStr) -> Self {
        self.search_path = std::env::split_paths(path).collect();
        self
    }

    /// Looks at the workspace as it is now.
    pub fn before(self) -> Result<Review, ReviewError> {
        let Self { workspace, upper, search_path } = self;
        let ground = Ground::open(&workspace, upper.as_deref())
            .map_err(|source| ReviewError::Workspace { path: workspace, source })?;
        let catalogue = Catalogue::new();
        let before = walk(&ground, &catalogue, &search_path);
        Ok(Review { ground, catalogue, search_path, before })
    }
}

impl Review {
    /// Looks at everything below a workspace as it is now.
    pub fn before(workspace: &Path) -> Result<Self, ReviewError> {
        ReviewScope::new(workspace).before()
    }

    /// Looks again and tells the difference. Paths and details hold the command's own words: whoever shows
    /// them makes them [`visible`](crate::visible) first.
    pub fn after(&self) -> Vec<ReviewItem> {
        let after = walk(&self.ground, &self.catalogue, &self.search_path);
        compare::compare(&self.ground, &self.catalogue, &self.before, &after)
    }
}
