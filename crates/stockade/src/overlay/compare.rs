//! Finding out what is different.
//!
//! A layer holds whatever a command touched, in the shape overlayfs gives it: whole copies of files, devices
//! numbered 0/0 for what is deleted, directories marked as opaque where nothing below shows through. Told is not
//! what was touched but what differs from the workspace now, so that what has been applied is no change any more.

use super::change::{Change, EntryKind};
use super::error::OverlayError;
use super::record::{Moment, Record, Stood};
use super::tree::{Tree, entry, is_whiteout, join};
use rustix::fs::{SeekFrom, Stat, seek};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The kernel's mark of a directory below which nothing shows through.
const OPAQUE: &str = "user.overlay.opaque";

/// All differences, in the order of paths.
pub(super) fn changes(record: &Record, host: &Tree, upper: &Tree) -> Result<Vec<Change>, OverlayError> {
    let mut found = Found { record, host, upper, changes: Vec::new(), ahead: vec![PathBuf::new()] };
    while let Some(directory) = found.ahead.pop() {
        found.directory(&directory)?;
    }
    let mut changes = found.changes;
    changes.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(changes)
}

/// Notes directories that the layer reaches into, for as long as it can be told how they were.
pub(super) fn note_directories(record: &mut Record, host: &Tree, upper: &Tree) {
    let mut ahead = vec![PathBuf::new()];
    while let Some(directory) = ahead.pop() {
        for name in upper.names(&directory).unwrap_or_default() {
            let path = join(&directory, &name);
            let is_directory = |found: &Stat| entry(found).kind == EntryKind::Directory;
            let (Ok(Some(after)), Ok(Some(before))) = (upper.look(&path), host.look(&path)) else { continue };
            if !is_directory(&after) || !is_directory(&before) {
                continue;
            }
            if record.stood(&path).is_none() && Moment::of_change(&before) < record.base {
                record.note_stood(&path, Stood { inode: before.st_ino, mode: before.st_mode & 0o7777 });
            }
            ahead.push(path);
        }
    }
}

struct Found<'t> {
    record: &'t Record,
    host: &'t Tree,
    upper: &'t Tree,
    changes: Vec<Change>,
    /// Directories of the layer that have not been looked into.
    ahead: Vec<PathBuf>,
}

impl Found<'_> {
    fn directory(&mut self, directory: &Path) -> Result<(), OverlayError> {
        let names = match self.upper.names(directory) {
            Ok(names) => names,
            // Deeper than a path can say; the directory itself has been told.
            Err(Errno::NAMETOOLONG) => return Ok(()),
            Err(errno) => return Err(OverlayError::io("list the changes in", directory)(errno)),
        };
        for name in &names {
            self.compare(join(directory, name))?;
        }
        let is_top = directory.as_os_str().is_empty();
        if !is_top && self.upper.has_note(directory, OPAQUE) {
            let kept: HashSet<_> = names.iter().collect();
            for name in self.names_on_host(directory)? {
                if !kept.contains(&name) {
                    self.deleted(join(directory, &name))?;
                }
            }
        }
        Ok(())
    }

    fn compare(&mut self, path: PathBuf) -> Result<(), OverlayError> {
        let after = match self.upper.look(&path) {
            Ok(Some(after)) => after,
            Ok(None) | Err(Errno::NAMETOOLONG) => return Ok(()),
            Err(errno) => return Err(OverlayError::io("look at the change to", &path)(errno)),
        };
        if is_whiteout(&after) {
            return self.deleted(path);
        }
        let before = self.on_host(&path)?;
        let is = |found: &Stat, kind: EntryKind| entry(found).kind == kind;
        if is(&after, EntryKind::Directory) {
            self.ahead.push(path.clone());
        } else if before.is_some_and(|before| is(&before, EntryKind::Directory)) {
            self.everything_below_deleted(&path)?;
        }
        let same = match &before {
            Some(before) => self.same(&path, before, &after)?,
            None => false,
        };
        if !same {
            self.changes.push(Change {
                path,
                before: before.as_ref().map(entry),
                after: Some(entry(&after)),
            });
        }
        Ok(())
    }

    /// Whether two entries do not differ in what a command could want to change.
    fn same(&self, path: &Path, before: &Stat, after: &Stat) -> Result<bool, OverlayError> {
        let (was, is) = (entry(before), entry(after));
        // A link's mode means nothing, and the special bits of others are never applied.
        let same_mode = is.kind == EntryKind::Symlink
            || was.mode & 0o777 == is.mode & 0o777
            || (was.kind == EntryKind::Directory && !self.command_changed(path, before, is.mode));
        if was.kind != is.kind || was.size != is.size || !same_mode {
            return Ok(false);
        }
        Ok(match is.kind {
            EntryKind::Directory | EntryKind::Pipe | EntryKind::Socket => true,
            EntryKind::Device => before.st_rdev == after.st_rdev,
            EntryKind::Symlink => {
                let target = self.upper.target(path).map_err(OverlayError::io("read the link", path))?;
                self.host.target(path).is_ok_and(|known| known == target)
            }
            EntryKind::File => {
                let new = self.upper.file(path).map_err(OverlayError::io("read the change to", path))?;
                // What cannot be read cannot be called the same.
                match self.host.file(path) {
                    Ok(old) => equal(&old, &new).map_err(OverlayError::io("compare", path))?,
                    Err(_) => false,
                }
            }
        })
    }

    /// Whether it was a command that gave a directory these permissions. The layer holds those of every directory
    /// a command made something in; the host's own change must not be undone by them.
    fn command_changed(&self, path: &Path, before: &Stat, mode: u32) -> bool {
        self.record.mode_before(path, before).is_some_and(|known| known & 0o777 != mode & 0o777)
    }

    /// Something the layer hides: it and everything below.
    fn deleted(&mut self, path: PathBuf) -> Result<(), OverlayError> {
        let Some(before) = self.on_host(&path)? else { return Ok(()) };
        let before = entry(&before);
        if before.kind == EntryKind::Directory {
            self.everything_below_deleted(&path)?;
        }
        self.changes.push(Change { path, before: Some(before), after: None });
        Ok(())
    }

    fn everything_below_deleted(&mut self, directory: &Path) -> Result<(), OverlayError> {
        let mut ahead = vec![directory.to_owned()];
        while let Some(directory) = ahead.pop() {
            for name in self.names_on_host(&directory)? {
                let path = join(&directory, &name);
                let Some(before) = self.on_host(&path)? else { continue };
                let before = entry(&before);
                if before.kind == EntryKind::Directory {
                    ahead.push(path.clone());
                }
                self.changes.push(Change { path, before: Some(before), after: None });
            }
        }
        Ok(())
    }

    /// What the workspace has at a path. What is behind a link, or another mount, is not the workspace's.
    fn on_host(&self, path: &Path) -> Result<Option<Stat>, OverlayError> {
        match self.host.look(path) {
            Err(Errno::LOOP | Errno::XDEV) => Ok(None),
            found => found.map_err(OverlayError::io("look at", path)),
        }
    }

    fn names_on_host(&self, directory: &Path) -> Result<Vec<std::ffi::OsString>, OverlayError> {
        match self.host.names(directory) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(Vec::new()),
            names => names.map_err(OverlayError::io("list", directory)),
        }
    }
}

/// Whether two files hold the same. Holes of both are not read: a file may be nothing but one, of any size.
fn equal(left: &File, right: &File) -> std::io::Result<bool> {
    const PIECE: usize = 64 << 10;
    let (mut one, mut other) = (vec![0; PIECE], vec![0; PIECE]);
    let length = left.metadata()?.len();
    if right.metadata()?.len() != length {
        return Ok(false);
    }
    let mut at = 0;
    while at < length {
        at = data(left, at, length).min(data(right, at, length));
        let wanted = usize::try_from(length - at).unwrap_or(PIECE).min(PIECE);
        let (one, other) = (&mut one[..wanted], &mut other[..wanted]);
        match left.read_exact_at(one, at).and_then(|()| right.read_exact_at(other, at)) {
            // Somebody makes it shorter while it is read.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        if one != other {
            return Ok(false);
        }
        at += wanted as u64;
    }
    Ok(true)
}

/// Where the next content is.
fn data(file: &File, at: u64, length: u64) -> u64 {
    match seek(file, SeekFrom::Data(at)) {
        Ok(next) => next,
        Err(Errno::NXIO) => length,
        // A file system that does not tell.
        Err(_) => at,
    }
}
