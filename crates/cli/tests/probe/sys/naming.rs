//! Every call through which a name comes to be.

use super::files::openat;
use super::sockets::{self, Place};
use super::{call, signed};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A way to make a name. `Rename` and the like need something that exists already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Open,
    OpenOld,
    Creat,
    Unnamed,
    UnnamedByLink,
    Node,
    NodeOld,
    Fifo,
    Directory,
    DirectoryOld,
    Symlink,
    Link,
    LinkOld,
    LinkDescriptor,
    Rename,
    RenameAt,
    RenameOld,
    NoReplace,
    Exchange,
    Bind,
}

impl Way {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "open" => Self::Open,
            "open-old" => Self::OpenOld,
            "creat" => Self::Creat,
            "unnamed" => Self::Unnamed,
            "unnamed-by-link" => Self::UnnamedByLink,
            "node" => Self::Node,
            "node-old" => Self::NodeOld,
            "fifo" => Self::Fifo,
            "directory" => Self::Directory,
            "directory-old" => Self::DirectoryOld,
            "symlink" => Self::Symlink,
            "link" => Self::Link,
            "link-old" => Self::LinkOld,
            "link-descriptor" => Self::LinkDescriptor,
            "rename" => Self::Rename,
            "rename-at" => Self::RenameAt,
            "rename-old" => Self::RenameOld,
            "no-replace" => Self::NoReplace,
            "exchange" => Self::Exchange,
            "bind" => Self::Bind,
            _ => return None,
        })
    }
}

const HERE: RawFd = libc::AT_FDCWD;

fn at(text: &CStr) -> usize {
    text.as_ptr() as usize
}

/// Makes a name. `name` may point at memory that somebody else changes meanwhile.
///
/// The old calls know no directory: for them, and for sockets, `dir` has to be where we stand.
pub(crate) fn make(way: Way, dir: RawFd, name: usize, source: &CStr) -> io::Result<()> {
    let here = signed(HERE);
    let dir = signed(dir);
    let plain = libc::S_IFREG as usize | 0o644;
    let makes = signed(libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC);
    match way {
        Way::Open => close(call(libc::SYS_openat, &[dir, name, makes, 0o644])?),
        Way::OpenOld => close(call(libc::SYS_open, &[name, makes, 0o644])?),
        Way::Creat => close(call(libc::SYS_creat, &[name, 0o644])?),
        Way::Unnamed | Way::UnnamedByLink => unnamed(way, dir, name, source),
        Way::Node => done(call(libc::SYS_mknodat, &[dir, name, plain, 0])),
        Way::NodeOld => done(call(libc::SYS_mknod, &[name, plain, 0])),
        Way::Fifo => done(call(libc::SYS_mknodat, &[dir, name, libc::S_IFIFO as usize | 0o644, 0])),
        Way::Directory => done(call(libc::SYS_mkdirat, &[dir, name, 0o755])),
        Way::DirectoryOld => done(call(libc::SYS_mkdir, &[name, 0o755])),
        Way::Symlink => done(call(libc::SYS_symlinkat, &[at(c"elsewhere/else"), dir, name])),
        Way::Link => done(call(libc::SYS_linkat, &[here, at(source), dir, name, 0])),
        Way::LinkOld => done(call(libc::SYS_link, &[at(source), name])),
        Way::LinkDescriptor => {
            let file = openat(HERE, source, libc::O_RDONLY)?;
            let own = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
            done(call(libc::SYS_linkat, &[here, at(&own), dir, name, libc::AT_SYMLINK_FOLLOW as usize]))
        }
        Way::Rename => done(call(libc::SYS_renameat2, &[here, at(source), dir, name, 0])),
        Way::RenameAt => done(call(libc::SYS_renameat, &[here, at(source), dir, name])),
        Way::RenameOld => done(call(libc::SYS_rename, &[at(source), name])),
        Way::NoReplace => {
            let flags = libc::RENAME_NOREPLACE as usize;
            done(call(libc::SYS_renameat2, &[here, at(source), dir, name, flags]))
        }
        Way::Exchange => {
            let flags = libc::RENAME_EXCHANGE as usize;
            done(call(libc::SYS_renameat2, &[here, at(source), dir, name, flags]))
        }
        Way::Bind => Err(io::Error::from_raw_os_error(libc::EINVAL)),
    }
}

/// A socket at a path.
pub(crate) fn bind(path: &CStr) -> io::Result<()> {
    let socket = sockets::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0)?;
    done(sockets::bind_unix(&socket, path.to_bytes(), Place::Path))
}

fn unnamed(way: Way, dir: usize, name: usize, source: &CStr) -> io::Result<()> {
    // On the file system the source lies on.
    let beside = source.to_bytes().iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let beside = CString::new(&source.to_bytes()[..beside])?;
    let file = openat(HERE, &beside, libc::O_TMPFILE | libc::O_RDWR)?;
    if way == Way::Unnamed {
        let empty = libc::AT_EMPTY_PATH as usize;
        return done(call(libc::SYS_linkat, &[signed(file.as_raw_fd()), at(c""), dir, name, empty]));
    }
    let own = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let follow = libc::AT_SYMLINK_FOLLOW as usize;
    done(call(libc::SYS_linkat, &[signed(HERE), at(&own), dir, name, follow]))
}

/// Opens with a path in memory that somebody else may be changing.
pub(crate) fn open_for_reading(path: usize) -> io::Result<OwnedFd> {
    let flags = signed(libc::O_RDONLY | libc::O_CLOEXEC);
    super::files::owned(call(libc::SYS_openat, &[signed(HERE), path, flags, 0])?)
}

/// Closes a number whoever it belongs to by now.
pub(crate) fn close(fd: usize) -> io::Result<()> {
    done(call(libc::SYS_close, &[fd]))
}

pub(crate) fn replace(from: RawFd, to: RawFd) -> io::Result<()> {
    done(call(libc::SYS_dup3, &[signed(from), signed(to), libc::O_CLOEXEC as usize]))
}

fn done(result: io::Result<usize>) -> io::Result<()> {
    result.map(|_| ())
}
