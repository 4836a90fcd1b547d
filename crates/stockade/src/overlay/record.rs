//! What is noted about an overlay beside its changes.

use super::error::OverlayError;
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file it is noted in.
pub(super) const NOTED: &str = "overlay.json";
/// More than it ever holds.
const LARGEST: u64 = 64 << 20;

/// What is noted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    /// The name somebody gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// The workspace's path, byte for byte.
    workspace: Vec<u8>,
    /// The directory it was.
    pub(super) inode: u64,
    /// Milliseconds since 1970.
    pub(super) created: u64,
    /// The kernel's own time when the overlay began: whatever changed later changed under it.
    pub(super) base: Moment,
    /// What was applied since, as it was then. Keys are paths' bytes in hexadecimal digits.
    #[serde(default)]
    applied: BTreeMap<String, Stamp>,
    /// Directories in which names were made or removed by applying, with their time then.
    #[serde(default)]
    entered: BTreeMap<String, Moment>,
    /// Directories of the workspace that the overlay reaches into, as they were before anybody else changed them.
    #[serde(default)]
    stood: BTreeMap<String, Stood>,
}

/// A directory as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stood {
    pub(super) inode: u64,
    /// Permission bits, the special ones included.
    pub(super) mode: u32,
}

/// A moment as files have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Moment {
    seconds: i64,
    nanoseconds: i64,
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stamp {
    inode: u64,
    size: i64,
    mode: u32,
    changed: Moment,
}

impl Moment {
    /// When a file's content, mode, owner or name last changed.
    pub(super) fn of_change(found: &Stat) -> Self {
        Self { seconds: found.st_ctime, nanoseconds: found.st_ctime_nsec as i64 }
    }

    /// When its content last changed, or when somebody says so.
    pub(super) fn of_content(found: &Stat) -> Self {
        Self { seconds: found.st_mtime, nanoseconds: found.st_mtime_nsec as i64 }
    }
}

impl Stamp {
    /// The present one.
    pub(super) fn of(found: &Stat) -> Self {
        let directory = rustix::fs::FileType::from_raw_mode(found.st_mode).is_dir();
        Self {
            inode: found.st_ino,
            // A directory changes with every name in it.
            size: if directory { 0 } else { found.st_size },
            mode: found.st_mode,
            changed: if directory { Moment { seconds: 0, nanoseconds: 0 } } else { Moment::of_change(found) },
        }
    }
}

impl Record {
    /// For a new overlay in `directory`. Takes a moment: the kernel's clock for files must have moved on since
    /// anything was changed before.
    pub(super) fn begin(
        directory: &Path,
        workspace: &Path,
        found: &Stat,
        name: Option<String>,
    ) -> io::Result<Self> {
        Ok(Self {
            name,
            workspace: workspace.as_os_str().as_bytes().to_vec(),
            inode: found.st_ino,
            created: crate::private::now(),
            base: next_moment(&directory.join("clock"))?,
            applied: BTreeMap::new(),
            entered: BTreeMap::new(),
            stood: BTreeMap::new(),
        })
    }

    pub(super) fn workspace(&self) -> PathBuf {
        std::ffi::OsString::from_vec(self.workspace.clone()).into()
    }

    /// How a path was when it was applied.
    pub(super) fn applied(&self, path: &Path) -> Option<&Stamp> {
        self.applied.get(&key(path))
    }

    pub(super) fn note_applied(&mut self, path: &Path, stamp: Option<Stamp>) {
        match stamp {
            Some(stamp) => self.applied.insert(key(path), stamp),
            None => self.applied.remove(&key(path)),
        };
    }

    /// Whether somebody else made or removed names in a directory since the overlay began.
    pub(super) fn was_entered(&self, path: &Path, found: &Stat) -> bool {
        let changed = Moment::of_content(found);
        changed >= self.base && self.entered.get(&key(path)) != Some(&changed)
    }

    pub(super) fn note_entered(&mut self, path: &Path, found: &Stat) {
        self.entered.insert(key(path), Moment::of_content(found));
    }

    /// How a directory was, if that is known.
    pub(super) fn stood(&self, path: &Path) -> Option<Stood> {
        self.stood.get(&key(path)).copied()
    }

    pub(super) fn note_stood(&mut self, path: &Path, stood: Stood) {
        self.stood.insert(key(path), stood);
    }

    /// The permissions a directory had before anybody changed them, if that is known: its own where it has not
    /// changed since.
    pub(super) fn mode_before(&self, path: &Path, found: &Stat) -> Option<u32> {
        match self.stood(path) {
            Some(stood) => (stood.inode == found.st_ino).then_some(stood.mode),
            None => (Moment::of_change(found) < self.base).then_some(found.st_mode & 0o7777),
        }
    }

    pub(super) fn read(directory: &Path) -> Result<Self, OverlayError> {
        let path = directory.join(NOTED);
        let read = || {
            let mut text = Vec::new();
            File::open(&path)?.take(LARGEST).read_to_end(&mut text)?;
            serde_json::from_slice(&text).map_err(io::Error::from)
        };
        read().map_err(OverlayError::io("read", &path))
    }

    /// Written whole or not at all.
    pub(super) fn write(&self, directory: &Path) -> Result<(), OverlayError> {
        let (path, draft) = (directory.join(NOTED), directory.join("overlay.json.new"));
        let write = || {
            let mut file = File::create(&draft)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.sync_all()?;
            fs::rename(&draft, &path)
        };
        write().map_err(OverlayError::io("write", &path))
    }
}

fn key(path: &Path) -> String {
    path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A moment of the kernel's clock for files that is later than every change before this call.
fn next_moment(clock: &Path) -> io::Result<Moment> {
    const TICK: Duration = Duration::from_millis(1);
    let touch = || -> io::Result<Moment> {
        fs::write(clock, b"-")?;
        let seen = fs::symlink_metadata(clock)?;
        Ok(Moment { seconds: seen.ctime(), nanoseconds: seen.ctime_nsec() })
    };
    let first = touch()?;
    let mut last = touch()?;
    while last <= first {
        std::thread::sleep(TICK);
        last = touch()?;
    }
    fs::remove_file(clock)?;
    Ok(last)
}
