//! Settings files with several names.
//!
//! A command cannot change a settings file under the name that is protected, but under another one that a hard
//! link gave the file before. What such a file says at the start is whoever wrote it's own; what it says later may
//! be a command's.

use crate::{RealFiles, visible};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use stockade_policy::Files;

/// Files that had several names at some time, by device and inode: a command can remove its own name again.
#[derive(Debug, Default)]
pub(super) struct Linked(BTreeSet<(u64, u64)>);

impl Linked {
    /// Takes note of those that have several now.
    pub(super) fn note(&mut self, files: &[PathBuf]) {
        for path in files {
            let Ok(found) = fs::metadata(path) else { continue };
            if found.is_file() && found.nlink() > 1 && RealFiles.may_change(path) {
                self.0.insert((found.dev(), found.ino()));
            }
        }
    }

    /// Why a change of this file is not taken.
    pub(super) fn doubt(&self, path: &Path) -> Option<String> {
        let found = fs::metadata(path).ok()?;
        self.0.contains(&(found.dev(), found.ino())).then(|| {
            format!(
                "{} has, or had, other names that hard links gave it ({} names now), under which a command could have \
                 changed it\nhint: remove those links, and save the settings as a new file or start anew",
                visible(&path.to_string_lossy()),
                found.nlink()
            )
        })
    }
}
