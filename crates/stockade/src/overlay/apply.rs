//! Bringing changes into the workspace.

use super::change::{Change, ChangeKind, EntryKind, Selection};
use super::conflict;
use super::copy;
use super::error::OverlayError;
use super::guard::Guard;
use super::record::{Record, Stamp, Stood};
use super::repository;
use super::sweep;
use super::tree::{Tree, entry};
use rustix::fs::{AtFlags, Mode, fstat, mkdirat, unlinkat};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use stockade_policy::Plan;

const IN_LEFT_OUT: &str = "the directory it lies in was left out";

/// Which changes are to be applied, and how.
#[derive(Clone, Copy, Debug)]
pub struct Apply<'a> {
    /// Which ones.
    pub selection: &'a Selection,
    /// What happens when the workspace has changed, too.
    pub on_conflict: OnConflict,
    /// A plan for commands in the workspace: what it protects stays protected.
    pub plan: &'a Plan,
}

/// What happens when the workspace has changed, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Nothing is applied.
    #[default]
    Refuse,
    /// The overlay's change wins.
    Overwrite,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Changes that the workspace has now.
    pub changes: Vec<Change>,
    /// Changes, or parts of them, that were left out.
    pub left_out: Vec<LeftOut>,
    /// How many changes the overlay still holds.
    pub remaining: usize,
}

/// Something that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where, relative to the workspace.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Applies these changes, which are in the order of paths.
pub(super) fn apply(
    record: &mut Record,
    label: String,
    (host, upper): (&Tree, &Tree),
    changes: &[Change],
    wish: &Apply<'_>,
) -> Result<Applied, OverlayError> {
    let guard = Guard::new(wish.plan, record.workspace(), host, upper);
    let (mut chosen, mut left_out) = sift(changes, &guard);
    if wish.on_conflict == OnConflict::Refuse {
        let conflicts = conflict::find(record, host, upper, &chosen)?;
        if !conflicts.is_empty() {
            return Err(OverlayError::Conflicts { id: label, conflicts });
        }
    }
    // No force reaches into a mount.
    chosen.retain(|change| {
        let mounted = host.is_mounted(&change.path);
        if mounted {
            let reason = "something else is mounted there now".to_owned();
            left_out.push(LeftOut { path: change.path.clone(), reason });
        }
        !mounted
    });
    sweep::drafts(host, &chosen);
    let mut hand = Hand {
        record,
        guard: &guard,
        host,
        upper,
        modes: BTreeMap::new(),
        applied: Applied { left_out, ..Applied::default() },
    };
    let done = hand.remove(&chosen).and_then(|()| hand.make(&chosen));
    // Directories that were opened for this are closed again, whatever happened.
    let settled = hand.settle_modes();
    hand.note_directories();
    done.and(settled)?;
    Ok(hand.applied)
}

/// Tells what may be applied from what may not.
fn sift(changes: &[Change], guard: &Guard<'_>) -> (Vec<Change>, Vec<LeftOut>) {
    let mut chosen: Vec<Change> = Vec::new();
    let mut left_out: Vec<LeftOut> = Vec::new();
    // Directories that will not be there.
    let mut missing: Option<PathBuf> = None;
    for change in changes {
        missing = missing.filter(|missing| change.path.starts_with(missing));
        let kind = change.after.map(|after| after.kind);
        let reason = if missing.is_some() {
            Some(IN_LEFT_OUT.to_owned())
        } else if let Some(kind @ (EntryKind::Pipe | EntryKind::Socket | EntryKind::Device)) = kind {
            Some(format!("it is a {}", kind.name()))
        } else {
            guard.refuses(change)
        };
        match reason {
            None => chosen.push(change.clone()),
            Some(reason) => {
                if kind == Some(EntryKind::Directory) && change.kind() != ChangeKind::Modified {
                    missing.get_or_insert_with(|| change.path.clone());
                }
                left_out.push(LeftOut { path: change.path.clone(), reason });
            }
        }
    }
    (chosen, left_out)
}

/// Whoever does it.
struct Hand<'a> {
    record: &'a mut Record,
    guard: &'a Guard<'a>,
    host: &'a Tree,
    upper: &'a Tree,
    /// Permissions directories get in the end: nothing can be made in one that is closed.
    modes: BTreeMap<PathBuf, u32>,
    applied: Applied,
}

impl Hand<'_> {
    /// Removes what is gone, and what something of another kind comes for; what lies below comes first.
    fn remove(&mut self, changes: &[Change]) -> Result<(), OverlayError> {
        for change in changes.iter().rev() {
            let Some(before) = change.before else { continue };
            let directory = before.kind == EntryKind::Directory;
            let makes_room = change.after.is_some_and(|after| {
                after.kind != before.kind && (directory || after.kind == EntryKind::Directory)
            });
            if change.after.is_some() && !makes_room {
                continue;
            }
            let failed = || OverlayError::io::<Errno>("remove", &change.path);
            self.open(&change.path)?;
            let place = self.host.place(&change.path).map_err(failed())?;
            let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            match unlinkat(&place.directory, &place.name, flags) {
                Ok(()) | Err(Errno::NOENT) => {
                    self.modes.remove(&change.path);
                    self.record.note_applied(&change.path, None);
                    if change.after.is_none() {
                        self.applied.changes.push(change.clone());
                    }
                }
                Err(Errno::NOTEMPTY | Errno::EXIST) if directory => {
                    self.leave_out(change, "something is left in the directory".to_owned());
                }
                Err(errno) => return Err(failed()(errno)),
            }
        }
        Ok(())
    }

    /// Makes what is new or different; what it lies in comes first.
    fn make(&mut self, changes: &[Change]) -> Result<(), OverlayError> {
        // A directory that was not made.
        let mut missing: Option<PathBuf> = None;
        for change in changes {
            let Some(after) = change.after else { continue };
            missing = missing.filter(|missing| change.path.starts_with(missing));
            if missing.is_some() {
                self.leave_out(change, IN_LEFT_OUT.to_owned());
                continue;
            }
            if self.applied.left_out.iter().any(|left| change.path == left.path) {
                continue;
            }
            let path = &change.path;
            let failed = || OverlayError::io::<std::io::Error>("apply the change to", path);
            self.open(path)?;
            let place = self.host.place(path).map_err(OverlayError::io("open the directory of", path))?;
            // Held until the change is made.
            let _locked = match self.guard.completing(change).map(|why| repository::lock(&place, why)) {
                None => None,
                Some(Ok(locked)) => Some(locked),
                Some(Err(reason)) => {
                    missing = (after.kind == EntryKind::Directory).then(|| path.clone());
                    self.leave_out(change, reason);
                    continue;
                }
            };
            match after.kind {
                EntryKind::Directory => {
                    match mkdirat(&place.directory, &place.name, Mode::RWXU) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(failed()(errno.into())),
                    }
                    let special = change.before.filter(|before| before.kind == after.kind);
                    let special = special.map_or(0, |before| before.mode & 0o7000);
                    let mode = special | (after.mode & 0o777);
                    self.modes.insert(path.clone(), mode);
                    if let Ok(found) = place.look() {
                        self.record.note_stood(path, Stood { inode: found.st_ino, mode });
                    }
                }
                EntryKind::File => {
                    let before = place.look().ok().filter(|found| entry(found).kind == EntryKind::File);
                    copy::file(self.upper, path, &place, before.as_ref()).map_err(failed())?;
                    if after.mode & 0o7000 != 0 {
                        let reason = "its set-id and sticky bits; the file itself was applied";
                        self.leave_out(change, reason.to_owned());
                    }
                }
                EntryKind::Symlink => copy::link(self.upper, path, &place).map_err(failed())?,
                EntryKind::Pipe | EntryKind::Socket | EntryKind::Device => continue,
            }
            let stamp = place.look().ok().as_ref().map(Stamp::of);
            self.record.note_applied(path, stamp);
            self.applied.changes.push(change.clone());
        }
        Ok(())
    }

    fn leave_out(&mut self, change: &Change, reason: String) {
        self.applied.left_out.push(LeftOut { path: change.path.clone(), reason });
    }

    /// Sees to it that names can be made and removed in the directory of a path. One of our own that is closed was
    /// opened by the command, too, and closed again.
    fn open(&mut self, path: &Path) -> Result<(), OverlayError> {
        let Some(parent) = path.parent().filter(|parent| !self.modes.contains_key(*parent)) else {
            return Ok(());
        };
        let look = || -> Result<Option<u32>, Errno> {
            let directory = self.host.directory(parent)?;
            let found = fstat(&directory)?;
            let ours = found.st_uid == rustix::process::geteuid().as_raw();
            let mode = found.st_mode & 0o7777;
            if !ours || mode & 0o300 == 0o300 {
                return Ok(None);
            }
            copy::mode(&directory, mode | 0o700)?;
            Ok(Some(mode))
        };
        match look() {
            Ok(None) | Err(Errno::NOENT | Errno::NOTDIR) => {}
            Ok(Some(mode)) => {
                self.modes.insert(parent.to_owned(), mode);
            }
            Err(errno) => return Err(OverlayError::io("open the directory", parent)(errno)),
        }
        Ok(())
    }

    /// Notes the times of directories that were changed here, so that nobody else is taken for it.
    fn note_directories(&mut self) {
        let parents = self.applied.changes.iter().filter_map(|change| change.path.parent());
        let parents: BTreeSet<PathBuf> = parents.map(Path::to_owned).collect();
        for parent in parents {
            if let Ok(found) = self.host.directory(&parent).and_then(|directory| fstat(&directory)) {
                self.record.note_entered(&parent, &found);
            }
        }
    }

    /// Gives directories the permissions they are to have, deepest first.
    fn settle_modes(&mut self) -> Result<(), OverlayError> {
        let mut result = Ok(());
        while let Some((path, mode)) = self.modes.pop_last() {
            let settled = self.host.directory(&path).and_then(|directory| {
                copy::mode(&directory, mode)?;
                fstat(&directory)
            });
            match settled {
                Ok(found) => self.record.note_applied(&path, Some(Stamp::of(&found))),
                Err(errno) => {
                    result = result.and(Err(OverlayError::io("change the mode of", path)(errno)));
                }
            }
        }
        result
    }
}
