//! Where a path leads that somebody will follow: every link on the way counts, and none may lead out.
//!
//! The kernel would resolve such a path in one call, but it knows nothing of layers that are not mounted, and
//! calls a link by its full name outside even where it is not. So the names are taken one by one, and what is
//! found is opened later without following anything.

use super::ground::{Ground, Spending};
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The kernel follows no more of them in one path either.
const MOST_LINKS: usize = 40;
/// Names in a path, links resolved: more than any path that can be opened has.
const MOST_NAMES: usize = 4096;

/// The end of a way.
#[derive(Debug)]
pub(super) enum Led {
    /// No link is left in the path.
    Directory(PathBuf),
    /// Anything else, with the directory it is in.
    File { path: PathBuf, directory: OwnedFd, stat: Box<Stat> },
    /// Out of the workspace.
    Outside,
    /// There is nothing, or it goes round in circles.
    Nowhere,
    /// Nobody could look.
    Closed,
}

/// One name of a path that is still to go.
enum Step {
    Down(OsString),
    Up,
}

/// What a name in a directory is.
enum Found {
    Directory,
    Link(PathBuf),
    Other(OwnedFd, Box<Stat>),
}

impl Ground {
    /// Follows a path as it is spelled, from a directory without links in its own path.
    pub(super) fn lead(&self, from: &Path, spelled: &Path, spending: &Spending) -> Led {
        let mut at = from.to_owned();
        let mut todo = VecDeque::new();
        if !self.enter(spelled, &mut at, &mut todo) {
            return Led::Outside;
        }
        let mut links = 0;
        while let Some(step) = todo.pop_front() {
            let Step::Down(name) = step else {
                if !at.pop() {
                    return Led::Outside;
                }
                continue;
            };
            match self.name_at(&at, &name) {
                Ok(Some(Found::Directory)) => at.push(name),
                Ok(Some(Found::Link(target))) => {
                    links += 1;
                    if links > MOST_LINKS || todo.len() > MOST_NAMES {
                        return Led::Nowhere;
                    }
                    if !spending.goes_on() {
                        return Led::Closed;
                    }
                    if !self.enter(&target, &mut at, &mut todo) {
                        return Led::Outside;
                    }
                }
                Ok(Some(Found::Other(directory, stat))) if todo.is_empty() => {
                    return Led::File { path: at.join(name), directory, stat };
                }
                Ok(Some(Found::Other(..)) | None) => return Led::Nowhere,
                Err(_) => return Led::Closed,
            }
        }
        Led::Directory(at)
    }

    /// Puts the names of a path before those that are still to go. Says no where it begins outside.
    fn enter(&self, spelled: &Path, at: &mut PathBuf, todo: &mut VecDeque<Step>) -> bool {
        let below = match spelled.is_absolute() {
            true => {
                let Ok(below) = spelled.strip_prefix(self.path()) else { return false };
                at.clear();
                below
            }
            false => spelled,
        };
        for part in below.components().rev() {
            match part {
                Component::Normal(name) => todo.push_front(Step::Down(name.to_owned())),
                Component::ParentDir => todo.push_front(Step::Up),
                _ => {}
            }
        }
        true
    }

    /// What the uppermost layer that has it says about a name.
    fn name_at(&self, at: &Path, name: &OsStr) -> Result<Option<Found>, Errno> {
        let (directories, _) = self.directories(at, self.depth())?;
        let last = directories.len().saturating_sub(1);
        for (layer, directory) in directories.into_iter().enumerate() {
            let stat = match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT | Errno::NOTDIR) => continue,
                Err(error) => return Err(error),
            };
            return Ok(match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => Some(Found::Directory),
                FileType::Symlink => {
                    let target = rustix::fs::readlinkat(&directory, name, Vec::new())?;
                    Some(Found::Link(PathBuf::from(OsStr::from_bytes(target.as_bytes()))))
                }
                // An overlay's mark for a name that is gone.
                FileType::CharacterDevice if layer < last && stat.st_rdev == 0 => None,
                _ => Some(Found::Other(directory, Box::new(stat))),
            });
        }
        Ok(None)
    }
}
