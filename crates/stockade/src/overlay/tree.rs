//! A directory and what is below it, reached without ever leaving it.
//!
//! Both sides of an overlay may hold links that a command made in the hope that somebody follows them. Every path is
//! walked from the top by the kernel itself, which is told to follow none, and not to cross into other mounts.

use super::change::{Entry, EntryKind};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fgetxattr, fstat, openat, openat2,
    readlinkat, statat,
};
use rustix::io::Errno;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The kernel's number of what stands for "deleted" in a layer.
const WHITEOUT_DEVICE: u64 = 0;

/// A directory that is not left.
#[derive(Debug)]
pub(super) struct Tree {
    top: OwnedFd,
    owner: Owner,
    /// Directories that are open for as long as this lives, and the permissions they get back.
    opened: RefCell<Vec<(OwnedFd, Mode)>>,
}

/// Whose a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The user's: what is closed stays closed.
    User,
    /// Our own: what a command closed is opened for a while, by the file itself and not by a name that could
    /// lead elsewhere.
    Ours,
}

/// A directory of a tree, and a name in it.
pub(super) struct Place {
    pub(super) directory: OwnedFd,
    pub(super) name: OsString,
}

const CONFINED: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

impl Tree {
    /// The tree below this directory.
    pub(super) fn open(path: &Path, owner: Owner) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        Ok(Self { top, owner, opened: RefCell::default() })
    }

    /// The top itself.
    pub(super) fn top(&self) -> Result<Stat, Errno> {
        fstat(&self.top)
    }

    /// A directory of the tree, only to be named.
    pub(super) fn directory(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        self.named(path, flags)
    }

    /// Whether something else is mounted at a path, or above it.
    pub(super) fn is_mounted(&self, path: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        matches!(self.named(path, flags), Err(Errno::XDEV))
    }

    /// Where a path lies.
    pub(super) fn place(&self, path: &Path) -> Result<Place, Errno> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
        let directory = self.directory(parent)?;
        if self.owner == Owner::Ours {
            self.let_in(directory.try_clone().map_err(number)?)?;
        }
        Ok(Place { directory, name: name.to_owned() })
    }

    /// What is at a path; nothing where there is nothing.
    pub(super) fn look(&self, path: &Path) -> Result<Option<Stat>, Errno> {
        let found = self.place(path).and_then(|place| place.look());
        match found {
            Ok(found) => Ok(Some(self.as_it_was(found))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// What was found, with the permissions it had before it was opened for us.
    fn as_it_was(&self, mut found: Stat) -> Stat {
        let same = |opened: &OwnedFd| {
            fstat(opened).is_ok_and(|known| (known.st_dev, known.st_ino) == (found.st_dev, found.st_ino))
        };
        let before = self.opened.borrow().iter().find(|(opened, _)| same(opened)).map(|(_, mode)| *mode);
        if let Some(mode) = before {
            found.st_mode = (found.st_mode & !0o7777) | mode.as_raw_mode();
        }
        found
    }

    /// The names in a directory, in order.
    pub(super) fn names(&self, path: &Path) -> Result<Vec<OsString>, Errno> {
        self.open_up(path)?;
        let opened = self.open_readable(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in Dir::new(opened)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name.to_vec()));
            }
        }
        names.sort();
        Ok(names)
    }

    /// Opens a regular file for reading; nothing else is opened, and nothing blocks.
    pub(super) fn file(&self, path: &Path) -> Result<File, Errno> {
        let file = self.open_readable(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        match FileType::from_raw_mode(fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(Errno::INVAL),
        }
    }

    /// Where a link leads.
    pub(super) fn target(&self, path: &Path) -> Result<PathBuf, Errno> {
        let Place { directory, name } = self.place(path)?;
        Ok(OsString::from_vec(readlinkat(directory, name, Vec::new())?.into_bytes()).into())
    }

    /// Whether the kernel has noted something about a file or directory of a layer.
    pub(super) fn has_note(&self, path: &Path, note: &str) -> bool {
        let Ok(opened) = self.open_readable(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY) else {
            return false;
        };
        let mut value = [0_u8; 256];
        fgetxattr(&opened, note, &mut value[..]).is_ok()
    }

    /// Opens something for reading.
    fn open_readable(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match self.named(path, flags) {
            Err(Errno::ACCESS) if self.owner == Owner::Ours => {}
            opened => return opened,
        }
        let named = self.itself(path)?;
        let mode = closed(&named)?.ok_or(Errno::ACCESS)?;
        let again = by_number(&named);
        rustix::fs::chmod(&again, mode | Mode::RUSR | Mode::XUSR)?;
        let opened = openat(CWD, &again, flags - OFlags::NOFOLLOW, Mode::empty());
        rustix::fs::chmod(&again, mode)?;
        opened
    }

    /// Opens something; the directories that lead to something of our own are opened for it.
    fn named(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let open = || openat2(&self.top, or_itself(path), flags, Mode::empty(), CONFINED);
        match open() {
            Err(Errno::ACCESS) if self.owner == Owner::Ours => {}
            opened => return opened,
        }
        let mut way: Vec<&Path> = path.ancestors().skip(1).collect();
        if path.as_os_str().is_empty() {
            way.push(path);
        }
        for directory in way.into_iter().rev() {
            self.open_up(directory)?;
        }
        open()
    }

    /// Lets us into a directory of our own.
    fn open_up(&self, path: &Path) -> Result<(), Errno> {
        if self.owner == Owner::User { Ok(()) } else { self.let_in(self.itself(path)?) }
    }

    fn let_in(&self, named: OwnedFd) -> Result<(), Errno> {
        if let Some(mode) = closed(&named)? {
            rustix::fs::chmod(by_number(&named), mode | Mode::RUSR | Mode::XUSR)?;
            self.opened.borrow_mut().push((named, mode));
        }
        Ok(())
    }

    /// A file or directory, only to be named. The top is not looked up: that takes permissions it may not have.
    fn itself(&self, path: &Path) -> Result<OwnedFd, Errno> {
        if path.as_os_str().is_empty() {
            return self.top.try_clone().map_err(number);
        }
        self.named(path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW)
    }
}

/// The permissions of a file or directory that belongs to us and that we may not read all the same.
fn closed(named: &OwnedFd) -> Result<Option<Mode>, Errno> {
    let seen = fstat(named)?;
    let wanted = match FileType::from_raw_mode(seen.st_mode) {
        FileType::Directory => Mode::RUSR | Mode::XUSR,
        FileType::RegularFile => Mode::RUSR,
        _ => return Ok(None),
    };
    let mode = Mode::from_raw_mode(seen.st_mode & 0o7777);
    let ours = seen.st_uid == rustix::process::geteuid().as_raw();
    Ok((ours && !mode.contains(wanted)).then_some(mode))
}

fn number(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

impl Drop for Tree {
    fn drop(&mut self) {
        for (directory, mode) in self.opened.get_mut() {
            // One that is gone needs no permissions.
            let _ = rustix::fs::chmod(by_number(directory), *mode);
        }
    }
}

fn by_number(named: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", named.as_raw_fd())
}

impl Place {
    /// What is there, without following it.
    pub(super) fn look(&self) -> Result<Stat, Errno> {
        statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW)
    }
}

fn or_itself(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Whether this stands for something deleted.
pub(super) fn is_whiteout(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice && found.st_rdev == WHITEOUT_DEVICE
}

/// What was found, in plain words.
pub(super) fn entry(found: &Stat) -> Entry {
    let kind = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Symlink,
        FileType::Fifo => EntryKind::Pipe,
        FileType::Socket => EntryKind::Socket,
        _ => EntryKind::Device,
    };
    let size = if kind == EntryKind::File { u64::try_from(found.st_size).unwrap_or_default() } else { 0 };
    Entry { kind, mode: found.st_mode & 0o7777, size }
}

/// A name below a directory.
pub(super) fn join(directory: &Path, name: &OsStr) -> PathBuf {
    let mut path = directory.as_os_str().as_bytes().to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend(name.as_bytes());
    OsString::from_vec(path).into()
}
