//! `audit.head`: which line was the last, and the lock of the log.
//!
//! Always the same file, written in place: it is the lock, so it must not be replaced, and its few bytes are
//! written with one call into a block that is already there.

use super::AuditError;
use super::event::is_zero;
use super::kept::Opened;
use super::line::{Hash, Link};
use crate::private;
use rustix::fs::{FlockOperation, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a writer waits for the others. They hold the lock for microseconds; one that was stopped while it
/// did must not stop every other command for long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Numbers of any length fit, and an old head is always covered by a new one.
const LENGTH: usize = 160;

/// What the head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The oldest line that must be there.
    pub(super) first: u64,
    /// The last line.
    pub(super) last: Link,
    /// Lines since then that could not be written. A full disk has no room for them, but for this number: its
    /// place is there already.
    pub(super) unwritten: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    first: u64,
    seq: u64,
    hash: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    lost: u64,
}

impl Head {
    /// `None` when it cannot be understood.
    fn parse(text: &[u8]) -> Option<Self> {
        let Text { first, seq, hash, lost } = serde_json::from_slice(text).ok()?;
        Some(Self { first, last: Link { seq, hash: Hash::read(hash.as_bytes())? }, unwritten: lost })
    }

    fn text(&self) -> serde_json::Result<Vec<u8>> {
        let Self { first, last, unwritten } = *self;
        let mut text =
            serde_json::to_vec(&Text { first, seq: last.seq, hash: last.hash.to_string(), lost: unwritten })?;
        text.resize(LENGTH - 1, b' ');
        text.push(b'\n');
        Ok(text)
    }
}

/// What was found in the head's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nobody has written one yet, or somebody removed it.
    Nothing,
    /// Something else.
    Unreadable,
    Head(Head),
}

/// The head, locked until dropped.
pub(super) struct Locked {
    opened: Opened,
    path: PathBuf,
}

impl Locked {
    /// Locks the head to write; makes it where there is none.
    pub(super) fn take(path: &Path) -> Result<Self, AuditError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        Self::open(path, &options)?
            .ok_or_else(|| AuditError::Open { path: path.to_owned(), source: io::ErrorKind::NotFound.into() })
    }

    /// Locks a head that is open already; `None` where it is not the one at this path any more.
    pub(super) fn again(opened: &Opened, path: &Path) -> Result<Option<Self>, AuditError> {
        Self::lock(&opened.file, path)?;
        let locked = Self { opened: opened.clone(), path: path.to_owned() };
        Ok(locked.is_in_place()?.then_some(locked))
    }

    /// What may be kept open for the next line.
    pub(super) fn opened(&self) -> Opened {
        self.opened.clone()
    }

    /// Locks the head to read; `None` where there is none.
    pub(super) fn peek(path: &Path) -> Result<Option<Self>, AuditError> {
        Self::open(path, OpenOptions::new().read(true))
    }

    fn open(path: &Path, options: &OpenOptions) -> Result<Option<Self>, AuditError> {
        let mut options = options.clone();
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        loop {
            let file = match options.open(path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(source) => return Err(AuditError::Open { path: path.to_owned(), source }),
            };
            Self::lock(&file, path)?;
            let wrong = |source| AuditError::Open { path: path.to_owned(), source };
            let seen = file.metadata().map_err(wrong)?;
            let locked = Self { opened: Opened::new(file, &seen), path: path.to_owned() };
            // A lock on a file that was removed meanwhile keeps nobody out.
            if locked.is_in_place()? {
                return Ok(Some(locked));
            }
        }
    }

    fn lock(file: &File, path: &Path) -> Result<(), AuditError> {
        private::lock(file, PATIENCE).map_err(|source| AuditError::Lock { path: path.to_owned(), source })
    }

    fn is_in_place(&self) -> Result<bool, AuditError> {
        let wrong = |source| AuditError::Open { path: self.path.clone(), source };
        Ok(self.opened.stands_at(&self.path).map_err(wrong)?.is_some())
    }

    pub(super) fn read(&self) -> Result<Found, AuditError> {
        let mut text = [0; LENGTH + 1];
        let mut length = 0;
        while length < text.len() {
            match self.opened.file.read_at(&mut text[length..], length as u64) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(AuditError::Read { path: self.path.clone(), source }),
            }
        }
        Ok(match &text[..length] {
            [] => Found::Nothing,
            text => Head::parse(text).map_or(Found::Unreadable, Found::Head),
        })
    }

    pub(super) fn write(&self, head: &Head) -> Result<(), AuditError> {
        let write = || self.opened.file.write_all_at(&head.text()?, 0);
        write().map_err(|source| AuditError::Write { path: self.path.clone(), source })
    }

    pub(super) fn synchronise(&self) -> Result<(), AuditError> {
        self.opened.file.sync_data().map_err(|source| AuditError::Write { path: self.path.clone(), source })
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Not left to the closing: a child that is being started may hold a copy of the descriptor.
        let _ = rustix::fs::flock(&*self.opened.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("head");
        let locked = Locked::take(&path).unwrap();
        assert_eq!(locked.read().unwrap(), Found::Nothing);
        let last = Link { seq: u64::MAX, hash: Hash::NONE };
        let large = Head { first: u64::MAX, last, unwritten: u64::MAX };
        for head in [large, Head { first: 1, last: Link::NONE, unwritten: 0 }] {
            locked.write(&head).unwrap();
            assert_eq!(locked.read().unwrap(), Found::Head(head));
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), LENGTH as u64);
        fs::write(&path, "garbage").unwrap();
        assert_eq!(locked.read().unwrap(), Found::Unreadable);
    }

    #[test]
    fn links_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("elsewhere", place.path().join("head")).unwrap();
        assert!(matches!(Locked::take(&place.path().join("head")), Err(AuditError::Open { .. })));
        assert!(!place.path().join("elsewhere").exists());
    }
}
