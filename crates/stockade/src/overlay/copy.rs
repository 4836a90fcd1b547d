//! Making one file, link or directory of the workspace what the layer has, whole or not at all.

use super::tree::{Place, Tree};
use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps, Uid, copy_file_range, fchmod,
    fchown, fgetxattr, flistxattr, fsetxattr, fstat, ftruncate, futimens, ioctl_ficlone, linkat, openat,
    renameat, seek, symlinkat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the names of drafts begin with; the process and a number follow.
pub(super) const DRAFT: &str = ".stockade.";
/// Tells drafts of one process apart.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// Puts a copy of a layer's file in its place. `before` is the file that is there now, if one is.
pub(super) fn file(upper: &Tree, path: &Path, to: &Place, before: Option<&Stat>) -> io::Result<()> {
    let mut from = upper.file(path)?;
    let seen = fstat(&from)?;
    let (draft, name) = match unnamed(to) {
        Some(draft) => (draft, None),
        None => {
            let name = draft_name();
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            (openat(&to.directory, &name, flags, Mode::RUSR | Mode::WUSR)?, Some(name))
        }
    };
    let mut draft = File::from(draft);
    let placed =
        fill(&mut from, &mut draft, &seen).and_then(|()| dress(&draft, &seen, to, before)).and_then(|()| {
            match &name {
                Some(name) => Ok(name.clone()),
                None => {
                    let name = draft_name();
                    let number = format!("/proc/self/fd/{}", draft.as_raw_fd());
                    linkat(CWD, number, &to.directory, &name, AtFlags::SYMLINK_FOLLOW)?;
                    Ok(name)
                }
            }
        });
    match (placed, name) {
        (Ok(name), _) => put(to, &name),
        (Err(error), name) => {
            if let Some(name) = name {
                let _ = unlinkat(&to.directory, name, AtFlags::empty());
            }
            Err(error)
        }
    }
}

/// Puts a copy of a layer's link in its place.
pub(super) fn link(upper: &Tree, path: &Path, to: &Place) -> io::Result<()> {
    let name = draft_name();
    symlinkat(upper.target(path)?, &to.directory, &name)?;
    put(to, &name)
}

/// Gives a draft its name.
fn put(to: &Place, draft: &str) -> io::Result<()> {
    renameat(&to.directory, draft, &to.directory, &to.name).map_err(|errno| {
        let _ = unlinkat(&to.directory, draft, AtFlags::empty());
        errno.into()
    })
}

/// Changes a directory's permissions by the directory itself, never by a name.
pub(super) fn mode(directory: &OwnedFd, mode: u32) -> Result<(), Errno> {
    rustix::fs::chmod(format!("/proc/self/fd/{}", directory.as_raw_fd()), Mode::from_raw_mode(mode))
}

/// A file without a name: nothing is left behind, whatever happens to this process.
fn unnamed(to: &Place) -> Option<OwnedFd> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    openat(&to.directory, ".", flags, Mode::RUSR | Mode::WUSR).ok()
}

fn draft_name() -> String {
    format!("{DRAFT}{}.{}", std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed))
}

/// Copies the content: shared with the original where the file system can, and with its holes in any case.
fn fill(from: &mut File, draft: &mut File, seen: &Stat) -> io::Result<()> {
    if ioctl_ficlone(&*draft, &*from).is_ok() {
        return Ok(());
    }
    let length = u64::try_from(seen.st_size).unwrap_or_default();
    let mut at = 0;
    while at < length {
        let (start, end) = match seek(&*from, SeekFrom::Data(at)) {
            Ok(start) => (start, seek(&*from, SeekFrom::Hole(start)).unwrap_or(length)),
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            Err(_) => (at, length),
        };
        copy_range(from, draft, start, end.min(length))?;
        at = end;
    }
    Ok(ftruncate(&*draft, length)?)
}

fn copy_range(from: &mut File, draft: &mut File, start: u64, end: u64) -> io::Result<()> {
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let wanted = usize::try_from(end - read_at).unwrap_or(usize::MAX);
        match copy_file_range(&*from, Some(&mut read_at), &*draft, Some(&mut write_at), wanted) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::XDEV | Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP | Errno::PERM | Errno::IO) => {
                from.seek(io::SeekFrom::Start(read_at))?;
                draft.seek(io::SeekFrom::Start(write_at))?;
                return pour(from.take(end - read_at), draft);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn pour(mut from: impl Read, to: &mut File) -> io::Result<()> {
    const PIECE: usize = 256 << 10;
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(()),
            count => to.write_all(&piece[..count])?,
        }
    }
}

/// Owner, permissions and times. Of what the kernel or a command noted beside the content nothing is taken from the
/// layer: capabilities and set-id bits would be rights, and the layer's own notes mean nothing outside. What the
/// file had that is there now is kept.
fn dress(draft: &File, seen: &Stat, to: &Place, before: Option<&Stat>) -> io::Result<()> {
    let made = fstat(draft)?;
    if rustix::process::geteuid().is_root() {
        let (owner, group) = (Uid::from_raw(seen.st_uid), Gid::from_raw(seen.st_gid));
        fchown(draft, Some(owner), Some(group))?;
    } else if let Some(before) = before.filter(|before| before.st_gid != made.st_gid) {
        // Only groups that the caller is in can be kept.
        let _ = fchown(draft, None, Some(Gid::from_raw(before.st_gid)));
    }
    if before.is_some() {
        keep_notes(draft, to);
    }
    fchmod(draft, Mode::from_raw_mode(seen.st_mode & 0o777))?;
    let unchanged = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let modified = Timespec { tv_sec: seen.st_mtime, tv_nsec: seen.st_mtime_nsec as _ };
    futimens(draft, &Timestamps { last_access: unchanged, last_modification: modified })?;
    Ok(())
}

/// Copies extended attributes of the file that is there, but for those that are rights. Attributes that cannot be
/// read or set are not the content's, and do not keep it from being applied.
fn keep_notes(draft: &File, to: &Place) {
    const LARGEST: usize = 64 << 10;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(present) = openat(&to.directory, &to.name, flags, Mode::empty()) else { return };
    let mut list = vec![0_u8; LARGEST];
    let Ok(length) = flistxattr(present.as_fd(), &mut list[..]) else { return };
    let names = list[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    for name in names.filter(|name| *name != b"security.capability" && !name.starts_with(b"trusted.")) {
        let mut value = vec![0_u8; LARGEST];
        if let Ok(length) = fgetxattr(present.as_fd(), name, &mut value[..]) {
            let _ = fsetxattr(draft, name, &value[..length], rustix::fs::XattrFlags::empty());
        }
    }
}
