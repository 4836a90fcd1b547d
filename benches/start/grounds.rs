//! The directories everything is measured in.

use anyhow::{Context, Result};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// As many as the largest set of rules names.
const FILES: usize = 10_000;
const FILES_IN_A_DIRECTORY: usize = 100;

/// A home with two workspaces, and files outside of both. Not below /tmp, where a sandbox has its own.
pub(crate) struct Grounds {
    directory: tempfile::TempDir,
    places: Cell<usize>,
    /// What making one file took.
    pub(crate) per_file: Duration,
}

/// A workspace that is used once, and a place for the caches of a command that has no sandbox.
///
/// Making files where others were just removed is slow on some file systems: nothing is used twice, and
/// nothing is removed before the end.
pub(crate) struct Place {
    pub(crate) workspace: PathBuf,
    pub(crate) cache: PathBuf,
}

impl Grounds {
    /// Makes them; they are gone when dropped.
    pub(crate) fn lay_out() -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("bench-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .context("could not make a directory to measure in")?;
        let mut grounds = Self { directory, places: Cell::new(0), per_file: Duration::ZERO };
        make_directory(&grounds.workspace())?;
        let begin = Instant::now();
        for file in grounds.files_inside().chain(grounds.files_outside()) {
            write(&file, "x")?;
        }
        grounds.per_file = begin.elapsed() / (2 * FILES) as u32;
        Ok(grounds)
    }

    /// A place nobody has used.
    pub(crate) fn place(&self) -> Result<Place> {
        let number = self.places.replace(self.places.get() + 1);
        let top = self.directory.path().join("places").join(number.to_string());
        let place = Place { workspace: top.join("work"), cache: top.join("cache") };
        make_directory(&place.workspace)?;
        make_directory(&place.cache)?;
        Ok(place)
    }

    /// A directory outside of every workspace, for what commands are given to work on.
    pub(crate) fn store(&self, name: &str) -> Result<PathBuf> {
        let path = self.directory.path().join("store").join(name);
        make_directory(&path)?;
        Ok(path)
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

/// Fills a directory with files, a hundred to a directory; `text` gets their numbers.
pub(crate) fn scatter(top: &Path, count: usize, text: impl Fn(usize) -> String) -> Result<()> {
    for number in 0..count {
        write(&scattered(top, number), &text(number))?;
    }
    Ok(())
}

/// Where one of them lies.
pub(crate) fn scattered(top: &Path, number: usize) -> PathBuf {
    top.join(format!("d{}", number / FILES_IN_A_DIRECTORY)).join(format!("f{number}"))
}

/// Writes a file, and the directories above it.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(parent) = path.parent() {
        make_directory(parent)?;
    }
    fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
}

fn names(top: PathBuf) -> impl Iterator<Item = PathBuf> {
    (0..FILES).map(move |number| scattered(&top, number))
}

fn make_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("could not make {}", path.display()))
}
