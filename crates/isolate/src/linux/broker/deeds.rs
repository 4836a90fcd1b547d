//! Acts the launcher does, because somebody allowed what the sandbox's walls refuse.
//!
//! Each names one exact path without links. The launcher sees the host's files, not the sandbox's.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, fstat, linkat, mkdirat, openat2,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One allowed act.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Deed {
    Open { path: Bytes, flags: u32, mode: u32 },
    MakeDirectory { path: Bytes, mode: u32 },
    Link { from: Bytes, to: Bytes },
    Rename { from: Bytes, to: Bytes, flags: u32 },
    Unlink { path: Bytes },
    RemoveDirectory { path: Bytes },
    Truncate { path: Bytes, length: u64 },
}

/// A path's bytes, whatever they are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Bytes(Vec<u8>);

impl From<&Path> for Bytes {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl Bytes {
    fn path(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(&self.0))
    }
}

impl Deed {
    /// For an act that returns a descriptor: whether it closes on exec.
    pub(super) fn descriptor(&self) -> Option<bool> {
        match self {
            Self::Open { flags, .. } => Some(OFlags::from_bits_retain(*flags).contains(OFlags::CLOEXEC)),
            _ => None,
        }
    }
}

/// What became of a deed.
pub(crate) type Done = Result<Option<OwnedFd>, Errno>;

/// Does an allowed act.
pub(crate) fn perform(deed: &Deed) -> Done {
    match deed {
        Deed::Open { path, flags, mode } => {
            let flags = OFlags::from_bits_retain(*flags);
            open(&path.path(), flags, Mode::from_raw_mode(*mode)).map(Some)
        }
        Deed::MakeDirectory { path, mode } => {
            let (parent, name) = parent(&path.path())?;
            mkdirat(parent, name, Mode::from_raw_mode(*mode)).map(|()| None)
        }
        Deed::Link { from, to } => {
            let ((old, old_name), (new, new_name)) = (parent(&from.path())?, parent(&to.path())?);
            linkat(&old, &old_name, &new, &new_name, AtFlags::empty())?;
            // Somebody may have put a link into its place since it was judged.
            if is_link(&new, &new_name) {
                unlinkat(&new, &new_name, AtFlags::empty())?;
                return Err(Errno::ACCESS);
            }
            Ok(None)
        }
        Deed::Rename { from, to, flags } => {
            let ((old, old_name), (new, new_name)) = (parent(&from.path())?, parent(&to.path())?);
            let flags = RenameFlags::from_bits_retain(*flags);
            if is_link(&old, &old_name) {
                return Err(Errno::ACCESS);
            }
            renameat_with(&old, &old_name, &new, &new_name, flags)?;
            if is_link(&new, &new_name) {
                renameat_with(&new, &new_name, &old, &old_name, flags)?;
                return Err(Errno::ACCESS);
            }
            Ok(None)
        }
        Deed::Unlink { path } => {
            let (parent, name) = parent(&path.path())?;
            unlinkat(parent, name, AtFlags::empty()).map(|()| None)
        }
        Deed::RemoveDirectory { path } => {
            let (parent, name) = parent(&path.path())?;
            unlinkat(parent, name, AtFlags::REMOVEDIR).map(|()| None)
        }
        Deed::Truncate { path, length } => {
            let file =
                open(&path.path(), OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
            rustix::fs::ftruncate(file, *length).map(|()| None)
        }
    }
}

/// Opens a file, never a directory: a directory of the host's in the sandbox would be a way out.
fn open(path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let mode = if flags.contains(OFlags::CREATE) { mode } else { Mode::empty() };
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    let is_new = OFlags::CREATE | OFlags::EXCL;
    match openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Err(Errno::NOENT) if flags.contains(OFlags::CREATE) => {
            openat2(CWD, path, flags | is_new, mode, resolve)
        }
        Err(errno) => Err(errno),
        Ok(_) if flags.contains(is_new) => Err(Errno::EXIST),
        // Looked at before it is opened: opening a device or a pipe may do something already.
        Ok(there) => match FileType::from_raw_mode(fstat(&there)?.st_mode) {
            FileType::RegularFile => {
                let again = format!("/proc/self/fd/{}", there.as_raw_fd());
                rustix::fs::open(again, flags - OFlags::CREATE - OFlags::NOFOLLOW, Mode::empty())
            }
            _ => Err(Errno::ACCESS),
        },
    }
}

/// Whether a name is a link, which no grant brings to a place: where a rule leads is found out anew for each run.
fn is_link(directory: &OwnedFd, name: &CString) -> bool {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

fn parent(path: &Path) -> Result<(OwnedFd, CString), Errno> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let directory = openat2(CWD, parent, flags, Mode::empty(), resolve)?;
    Ok((directory, CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)?))
}
