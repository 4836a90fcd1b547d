//! Whether mounts still stand where the plan put them.
//!
//! Names are judged by the path their directory has, and rules are about paths of the plan. When a directory above a
//! mount is renamed (by a command in a private /tmp, by another sandbox, by a person), everything in that mount has
//! other paths from then on, which no rule knows. Nothing is judged there any more, and nothing allowed: a mount is
//! known by its number, which does not change, and the paths of what is in it begin where it was laid.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Statx, StatxAttributes, StatxFlags, openat, statx};
use rustix::io::Errno;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use stockade_policy::{Identity, Mount, MountKind};

/// What a call fails with whose place no rule can be asked about.
pub(super) const MOVED: Errno = Errno::STALE;

/// A line of `mountinfo`: the mount's number and that of the one it stands on.
type Line = (u64, u64);

/// Where the mounts of a sandbox were when it began.
pub(super) struct Standing {
    laid: Vec<Laid>,
    /// One that was carried away before anybody looked: its number is not known.
    lost: Option<PathBuf>,
    /// Which of those a file system of the host's stands on, for those that were met.
    others: Mutex<Vec<(u64, usize)>>,
    /// What was not found in its place, most recently.
    moved: Mutex<Option<PathBuf>>,
}

struct Laid {
    number: u64,
    path: PathBuf,
}

impl Standing {
    /// Looks where everything is. Commands may run by now, so that a name alone says nothing: what stands there has to
    /// be a mount, and of the very file the plan means.
    pub(super) fn look(mounts: &[Mount]) -> Result<Self, Errno> {
        let mut laid = vec![Laid { number: number_at(Path::new("/"))?, path: "/".into() }];
        let mut lost = None;
        for (at, mount) in mounts.iter().enumerate() {
            let identity = match &mount.kind {
                MountKind::Mask { .. } => continue,
                MountKind::Bind { identity, .. } => Some(identity),
                _ => None,
            };
            let found = match look_at(&mount.path) {
                Ok(found) => found,
                Err(Errno::NOENT | Errno::NOTDIR) if identity.is_some() => {
                    lost.get_or_insert_with(|| mount.path.clone());
                    continue;
                }
                // Nobody who runs as the caller does comes there by name.
                Err(_) => continue,
            };
            if identity.is_some_and(|identity| !is(&found, identity))
                && !is_overlaid(&mounts[..at], &mount.path)
                && !mounts[at + 1..].iter().any(|later| later.path == mount.path)
            {
                lost.get_or_insert_with(|| mount.path.clone());
                continue;
            }
            laid.push(Laid { number: number(found)?, path: mount.path.clone() });
        }
        Ok(Self { laid, lost, others: Mutex::default(), moved: Mutex::default() })
    }

    /// Fails where a file lies in a mount that was carried away. `shown` is the path the kernel tells for it, which goes
    /// through the place where its mount is now.
    pub(super) fn check(&self, file: &OwnedFd, shown: &Path, proc: &OwnedFd) -> Result<(), Errno> {
        let number = number_of(file)?;
        let index = match self.laid.iter().position(|laid| laid.number == number) {
            Some(index) => index,
            // It may be the one that was lost.
            None if self.lost.is_some() => {
                self.last().clone_from(&self.lost);
                return Err(MOVED);
            }
            None => self.beneath(number, proc)?,
        };
        let laid = self.laid.get(index).ok_or(MOVED)?;
        // The first one is the root, which nobody can carry away.
        if index == 0 || shown.starts_with(&laid.path) {
            return Ok(());
        }
        *self.last() = Some(laid.path.clone());
        Err(MOVED)
    }

    /// What was not found in its place since this was asked last.
    pub(super) fn take_moved(&self) -> Option<PathBuf> {
        self.last().take()
    }

    /// Which mount of the plan another one stands on. That does not change: nobody inside can move mounts.
    fn beneath(&self, number: u64, proc: &OwnedFd) -> Result<usize, Errno> {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, index)) = others.iter().find(|(other, _)| *other == number) {
            return Ok(*index);
        }
        let lines = read_lines(proc)?;
        let mut at = number;
        // As many steps as there are mounts lead to the root, unless something is wrong.
        for _ in 0..=lines.len() {
            if let Some(index) = self.laid.iter().position(|laid| laid.number == at) {
                others.push((number, index));
                return Ok(index);
            }
            at = lines.iter().find(|(mount, _)| *mount == at).map(|(_, below)| *below).ok_or(MOVED)?;
        }
        Err(MOVED)
    }

    fn last(&self) -> MutexGuard<'_, Option<PathBuf>> {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn number_at(path: &Path) -> Result<u64, Errno> {
    number(look_at(path)?)
}

fn look_at(path: &Path) -> Result<Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    statx(CWD, path, flags, StatxFlags::MNT_ID | StatxFlags::INO)
}

/// Whether an overlay shows what is there: that has numbers of its own.
fn is_overlaid(mounts: &[Mount], path: &Path) -> bool {
    let mut above = mounts.iter().filter(|mount| path.starts_with(&mount.path));
    above.any(|mount| matches!(mount.kind, MountKind::Overlay { .. }))
}

/// Whether a mount of this very file was found.
fn is(found: &Statx, identity: &Identity) -> bool {
    let dev = rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor);
    let is_mount = found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
    is_mount && (dev, found.stx_ino) == (identity.dev, identity.ino)
}

fn number_of(file: impl AsFd) -> Result<u64, Errno> {
    number(statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?)
}

fn number(found: Statx) -> Result<u64, Errno> {
    let told = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
    // Every kernel that can lay these mounts tells.
    if told { Ok(found.stx_mnt_id) } else { Err(Errno::NOSYS) }
}

/// All mounts of the sandbox, as its own part of the kernel lists them.
fn read_lines(proc: &OwnedFd) -> Result<Vec<Line>, Errno> {
    let file = openat(proc, c"self/mountinfo", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = Vec::new();
    std::fs::File::from(file).read_to_end(&mut text).map_err(|_| Errno::IO)?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(read_line).collect())
}

fn read_line(line: &str) -> Option<Line> {
    let mut words = line.split(' ');
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade_policy::{FileKind, Rights};

    #[test]
    fn lines_name_a_mount_and_what_it_stands_on() {
        let line = r"412 31 0:45 / /home/a\040b rw,nosuid - tmpfs tmpfs rw";
        assert_eq!(read_line(line), Some((412, 31)));
        assert_eq!(read_line("x"), None);
    }

    #[test]
    fn files_are_known_by_their_mount() {
        let proc = openat(CWD, c"/proc", OFlags::PATH, Mode::empty()).unwrap();
        let standing = Standing::look(&[]).unwrap();
        for path in [c"/", c"/proc/self", c"/dev"] {
            let file = openat(CWD, path, OFlags::PATH, Mode::empty()).unwrap();
            assert_eq!(standing.check(&file, Path::new(path.to_str().unwrap()), &proc), Ok(()), "{path:?}");
        }
        // One that is said to have stood elsewhere.
        let elsewhere = Laid { number: number_at(Path::new("/proc")).unwrap(), path: "/usr".into() };
        let standing = Standing {
            laid: vec![Laid { number: number_at(Path::new("/")).unwrap(), path: "/".into() }, elsewhere],
            lost: None,
            others: Mutex::default(),
            moved: Mutex::default(),
        };
        let file = openat(CWD, c"/proc", OFlags::PATH, Mode::empty()).unwrap();
        assert_eq!(standing.check(&file, Path::new("/proc"), &proc), Err(MOVED));
        assert_eq!(standing.take_moved(), Some("/usr".into()));
        assert_eq!(standing.check(&file, Path::new("/usr"), &proc), Ok(()));
    }

    #[test]
    fn what_was_lost_before_anybody_looked_may_be_any_unknown_mount() {
        let proc = openat(CWD, c"/proc", OFlags::PATH, Mode::empty()).unwrap();
        let plan = |path: &str| {
            let identity = Identity { dev: 1, ino: 2, kind: FileKind::Directory };
            let kind =
                MountKind::Bind { identity, rights: Rights { read: true, write: true, execute: true } };
            Mount { path: path.into(), kind, rule: None }
        };
        // No mount, not the file that was meant, not there.
        for path in ["/usr", "/proc", "/nowhere"] {
            let standing = Standing::look(&[plan(path)]).unwrap();
            let file = openat(CWD, c"/proc", OFlags::PATH, Mode::empty()).unwrap();
            assert_eq!(standing.check(&file, Path::new("/proc"), &proc), Err(MOVED), "{path}");
            assert_eq!(standing.take_moved(), Some(path.into()));
            let root = openat(CWD, c"/", OFlags::PATH, Mode::empty()).unwrap();
            assert_eq!(standing.check(&root, Path::new("/"), &proc), Ok(()));
        }
    }
}
