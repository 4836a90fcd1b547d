//! A tree of files as it is, to be compared with what it becomes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Every name below a directory with what could change about it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Snapshot(BTreeMap<PathBuf, Entry>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    mode: u32,
    owner: (u32, u32),
    device: u64,
    links: u64,
    inode: u64,
    /// A directory's time tells that a name was made and removed again.
    changed: (i64, i64),
    content: Vec<u8>,
}

impl Snapshot {
    /// The whole tree; below `except` nothing is looked at.
    pub(crate) fn of(root: &Path, except: &[&Path]) -> Self {
        let mut found = BTreeMap::new();
        look(root, except, &mut found);
        Self(found)
    }

    /// Fails with the difference.
    #[track_caller]
    pub(crate) fn same_as(&self, before: &Self, when: &str) {
        let mut told = Vec::new();
        for (path, entry) in &self.0 {
            match before.0.get(path) {
                None => told.push(format!("new: {}", path.display())),
                Some(old) if old != entry => {
                    told.push(format!("changed: {}\n  from {old:?}\n  to   {entry:?}", path.display()));
                }
                Some(_) => {}
            }
        }
        let gone = before.0.keys().filter(|path| !self.0.contains_key(*path));
        told.extend(gone.map(|path| format!("gone: {}", path.display())));
        assert!(told.is_empty(), "the host changed ({when}):\n{}", told.join("\n"));
    }
}

fn look(path: &Path, except: &[&Path], found: &mut BTreeMap<PathBuf, Entry>) {
    // Stockade's own records are no part of what a command may or may not change.
    if except.contains(&path) || path.ends_with(".local/state/stockade") {
        return;
    }
    let data = match fs::symlink_metadata(path) {
        Ok(data) => data,
        // Temporary files of others come and go while we look.
        Err(_) => return,
    };
    let content = if data.is_file() {
        fs::read(path).unwrap_or_default()
    } else if data.is_symlink() {
        fs::read_link(path).map(|to| to.into_os_string().into_encoded_bytes()).unwrap_or_default()
    } else {
        Vec::new()
    };
    let entry = Entry {
        mode: data.mode(),
        owner: (data.uid(), data.gid()),
        device: data.rdev(),
        links: data.nlink(),
        inode: data.ino(),
        changed: (data.mtime(), data.mtime_nsec()),
        content,
    };
    found.insert(path.to_path_buf(), entry);
    if data.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            look(&entry.path(), except, found);
        }
    }
}
