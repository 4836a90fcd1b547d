//! The directories everything is measured in.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// As many as the largest set of rules names.
const FILES: usize = 10_000;
const FILES_IN_A_DIRECTORY: usize = 100;

/// A home with two workspaces, and files outside of both. Not below /tmp, where a sandbox has its own.
pub(crate) struct Grounds {
    directory: tempfile::TempDir,
}

impl Grounds {
    /// Makes them; they are gone when dropped.
    pub(crate) fn lay_out() -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("bench-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .context("could not make a directory to measure in")?;
        let grounds = Self { directory };
        make_directory(&grounds.workspace())?;
        for file in grounds.files_inside().chain(grounds.files_outside()) {
            if let Some(parent) = file.parent() {
                make_directory(parent)?;
            }
            fs::write(&file, "x").with_context(|| format!("could not write {}", file.display()))?;
        }
        Ok(grounds)
    }

    /// The home directory of every run: nobody's settings are in it.
    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// An empty workspace.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.home().join("empty")
    }

    /// A workspace that holds [`Grounds::files_inside`].
    pub(crate) fn full_workspace(&self) -> PathBuf {
        self.home().join("full")
    }

    /// Files of the full workspace.
    pub(crate) fn files_inside(&self) -> impl Iterator<Item = PathBuf> + use<> {
        names(self.full_workspace())
    }

    /// Files outside of both workspaces.
    pub(crate) fn files_outside(&self) -> impl Iterator<Item = PathBuf> + use<> {
        names(self.directory.path().join("outside"))
    }

    /// Names outside of both workspaces that nothing has.
    pub(crate) fn no_files(&self) -> impl Iterator<Item = PathBuf> + use<> {
        names(self.directory.path().join("nothing"))
    }

    /// Where settings for a run can be kept.
    pub(crate) fn settings(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn names(top: PathBuf) -> impl Iterator<Item = PathBuf> {
    (0..FILES)
        .map(move |number| top.join(format!("d{}", number / FILES_IN_A_DIRECTORY)).join(format!("f{number}")))
}

fn make_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("could not make {}", path.display()))
}
