//! What both sides changed.

use super::change::{Change, ChangeKind, EntryKind, quoted};
use super::error::OverlayError;
use super::record::{Moment, Record, Stamp};
use super::tree::{Tree, entry};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The kernel's mark of what was copied up from the workspace.
const ORIGIN: &str = "user.overlay.origin";

/// A path whose change would undo one that the host made meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Where, relative to the workspace.
    pub path: PathBuf,
    /// What happened.
    pub reason: &'static str,
}

impl fmt::Display for Conflict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", quoted(&self.path), self.reason)
    }
}

/// Looks for changes that the host made to what is about to be changed.
pub(super) fn find(
    record: &Record,
    host: &Tree,
    upper: &Tree,
    changes: &[Change],
) -> Result<Vec<Conflict>, OverlayError> {
    let mut finder = Finder { record, host, upper, directories: HashMap::new() };
    let mut conflicts = Vec::new();
    for change in changes {
        if let Some(reason) = finder.look(change)? {
            conflicts.push(Conflict { path: change.path.clone(), reason });
        }
    }
    Ok(conflicts)
}

struct Finder<'t> {
    record: &'t Record,
    host: &'t Tree,
    upper: &'t Tree,
    /// What was found out about directories on the way.
    directories: HashMap<PathBuf, Option<&'static str>>,
}

impl Finder<'_> {
    fn look(&mut self, change: &Change) -> Result<Option<&'static str>, OverlayError> {
        if self.host.is_mounted(&change.path) {
            return Ok(Some("something else is mounted there now"));
        }
        if let Some(reason) = self.way(change.path.parent().unwrap_or(Path::new("")))? {
            return Ok(Some(reason));
        }
        let found = match self.host.look(&change.path) {
            // Behind a link that is about to become a directory.
            Err(Errno::LOOP) => None,
            found => found.map_err(OverlayError::io("look at", &change.path))?,
        };
        let Some(found) = found else {
            return Ok(self.was_removed(change)?.then_some("it was removed meanwhile"));
        };
        if let Some(noted) = self.record.applied(&change.path) {
            return Ok((Stamp::of(&found) != *noted).then_some("it was changed since it was last applied"));
        }
        // A directory changes with every name in it; what counts is what is about to happen to those.
        if entry(&found).kind == EntryKind::Directory {
            let stood = self.record.stood(&change.path).filter(|_| change.kind() == ChangeKind::Modified);
            let differs = stood.is_some_and(|stood| stood.mode != found.st_mode & 0o7777);
            return Ok(differs.then_some("its permissions were changed meanwhile"));
        }
        let later = Moment::of_change(&found) >= self.record.base;
        Ok(later.then_some("it was changed or made meanwhile"))
    }

    /// Whether the host had something here that a command changed. What was copied up may have been given another
    /// name since; then nobody removed a name in this directory, or too much is asked.
    fn was_removed(&self, change: &Change) -> Result<bool, OverlayError> {
        if !self.upper.has_note(&change.path, ORIGIN) {
            return Ok(false);
        }
        let parent = change.path.parent().unwrap_or(Path::new(""));
        match self.host.directory(parent).and_then(|directory| rustix::fs::fstat(&directory)) {
            Ok(found) => Ok(self.record.was_entered(parent, &found)),
            // The directory is new, or its own change says what is to be said.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
            Err(errno) => Err(OverlayError::io("look at", parent)(errno)),
        }
    }

    /// Whether the directories that lead to a path are those the overlay was laid over.
    fn way(&mut self, directory: &Path) -> Result<Option<&'static str>, OverlayError> {
        let Some(parent) = directory.parent() else { return Ok(None) };
        if let Some(known) = self.directories.get(directory) {
            return Ok(*known);
        }
        let mut reason = self.way(parent)?;
        if reason.is_none() {
            reason = match self.host.look(directory) {
                Err(Errno::XDEV) => Some("the way to it leads out of the workspace now"),
                // Behind a link that was looked at already.
                Err(Errno::LOOP) => None,
                Err(errno) => return Err(OverlayError::io("look at", directory)(errno)),
                Ok(Some(found)) if entry(&found).kind == EntryKind::Directory => {
                    // With a name made or removed in it, both moments are the same.
                    let renamed = || {
                        Moment::of_change(&found) >= self.record.base
                            && Moment::of_content(&found) < self.record.base
                            && self.record.applied(directory) != Some(&Stamp::of(&found))
                    };
                    let replaced = match self.record.stood(directory) {
                        Some(stood) => stood.inode != found.st_ino,
                        None => renamed(),
                    };
                    replaced.then_some("a directory above it was moved or replaced meanwhile")
                }
                Ok(Some(found)) if entry(&found).kind == EntryKind::Symlink => {
                    self.upper.has_note(directory, ORIGIN).then_some("a directory above it is a link now")
                }
                Ok(_) => None,
            };
        }
        self.directories.insert(directory.to_owned(), reason);
        Ok(reason)
    }
}
