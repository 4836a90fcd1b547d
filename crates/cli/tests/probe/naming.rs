//! Making names in every way, from every place a path can begin at.

use crate::answer::{Answer, Args, Failure};
use crate::files::done;
use crate::sys::files::openat;
use crate::sys::naming::{self as raw, Way};
use std::ffi::CString;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    Some(match act {
        "make" => make(args),
        "make-in" => make_in(args),
        "make-at" => make_at(args),
        "make-below" => make_below(args),
        _ => return None,
    })
}

pub(crate) fn way(args: &Args, at: usize) -> Result<Way, Failure> {
    let text = args.text(at)?;
    Way::parse(text).ok_or_else(|| Failure::Usage(format!("unknown way {text}")))
}

/// One name. Sockets have no call that takes a directory, so it is spelled out for them.
fn make_one(way: Way, dir: RawFd, name: &CString, source: &CString) -> Answer {
    if way != Way::Bind {
        return done(raw::make(way, dir, name.as_ptr() as usize, source));
    }
    if dir == libc::AT_FDCWD {
        return done(raw::bind(name));
    }
    let through = format!("/proc/self/fd/{dir}/").into_bytes();
    let path = CString::new([through.as_slice(), name.as_bytes()].concat());
    path.map_err(|_| Failure::Usage("NUL in a path".into())).and_then(|path| done(raw::bind(&path)))
}

/// `make WAY PATH SOURCE`
fn make(args: &Args) -> Answer {
    make_one(way(args, 0)?, libc::AT_FDCWD, &args.name(1)?, &args.name(2)?)
}

/// `make-in DIRECTORY WAY PATH SOURCE`: standing there.
fn make_in(args: &Args) -> Answer {
    let before = std::env::current_dir()?;
    std::env::set_current_dir(args.path(0)?)?;
    let answer = make_one(way(args, 1)?, libc::AT_FDCWD, &args.name(2)?, &args.name(3)?);
    std::env::set_current_dir(before)?;
    answer
}

/// `make-at DIRECTORY WAY NAME SOURCE`: with a descriptor of it.
fn make_at(args: &Args) -> Answer {
    let dir = openat(libc::AT_FDCWD, &args.name(0)?, libc::O_PATH | libc::O_DIRECTORY)?;
    make_one(way(args, 1)?, dir.as_raw_fd(), &args.name(2)?, &args.name(3)?)
}

/// `make-below DOOR DIRECTORY WAY NAME SOURCE`: `DOOR/N/NAME`, with N a descriptor of the directory.
fn make_below(args: &Args) -> Answer {
    let dir = openat(libc::AT_FDCWD, &args.name(1)?, libc::O_RDONLY | libc::O_DIRECTORY)?;
    let number = format!("/{}/", dir.as_raw_fd()).into_bytes();
    let path = [args.word(0)?.as_bytes(), &number, args.word(3)?.as_bytes()].concat();
    let path = CString::new(path).map_err(|_| Failure::Usage("NUL in a path".into()))?;
    make_one(way(args, 2)?, libc::AT_FDCWD, &path, &args.name(4)?)
}
