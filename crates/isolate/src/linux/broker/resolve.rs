//! From a path argument to a directory, a name in it, and the one true path.
//!
//! The broker has the caller's root and mounts, so that the kernel itself walks most of the way. Only the
//! last name is taken by hand, because it decides which rule speaks, and what must not be resolved here
//! at all is left out: /proc/self and its links would mean the broker.

use super::call::{Follow, PathArgument};
use super::caller::{Base, Caller, PLACE};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2, readlinkat};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

/// Links of a process's own that lead out of /proc.
const DOORS: [&str; 3] = ["root", "cwd", "fd"];

/// A name in a directory.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) directory: Arc<OwnedFd>,
    /// Free of links.
    pub(super) path: PathBuf,
    /// With a trailing slash where the caller wrote one.
    pub(super) name: CString,
}

/// Where a path leads.
#[derive(Debug)]
pub(super) enum Led {
    To(Place),
    /// Into /proc: what is left of the path behind it.
    IntoProc(Vec<u8>),
}

impl Caller<'_> {
    /// Resolves a path argument whose last name is not followed.
    pub(super) fn place(&self, argument: PathArgument) -> Result<Place, Errno> {
        match self.lead(argument, Follow::No)? {
            Led::To(place) => Ok(place),
            Led::IntoProc(_) => Err(Errno::ACCESS),
        }
    }

    /// Resolves a path argument.
    pub(super) fn lead(&self, argument: PathArgument, follow: Follow) -> Result<Led, Errno> {
        let path = self.path(argument.address)?;
        let base = self.base(argument, path.to_bytes())?;
        self.walk(base, path.into_bytes(), follow)
    }

    pub(super) fn walk(&self, base: Base, path: Vec<u8>, follow: Follow) -> Result<Led, Errno> {
        let led = self.enter(base, &path)?;
        if follow == Follow::No {
            return Ok(led);
        }
        let mut led = led;
        for _ in 0..MOST_LINKS {
            let Led::To(place) = led else { return Ok(led) };
            match readlinkat(&place.directory, plain(&place.name), Vec::new()) {
                Ok(target) => led = self.follow(place, target.to_bytes())?,
                // Not a link, or not there.
                Err(_) => return Ok(Led::To(place)),
            }
        }
        Err(Errno::LOOP)
    }

    /// One step along a link that stands at a place.
    pub(super) fn follow(&self, place: Place, target: &[u8]) -> Result<Led, Errno> {
        let mut target = target.to_vec();
        if place.name.to_bytes().ends_with(b"/") {
            target.push(b'/');
        }
        let base = if target.first() == Some(&b'/') { Base::Root } else { Base::Directory(place.directory) };
        self.enter(base, &target)
    }

    /// Opens the directory the last name lies in.
    pub(super) fn enter(&self, base: Base, path: &[u8]) -> Result<Led, Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        if let (Base::Root, Some(rest)) = (&base, in_proc(path)) {
            return self.through_proc(rest);
        }
        let trimmed = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let start = path[..trimmed].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (above, name) = (&path[..start], &path[start..]);
        let name = if trimmed == 0 { b"." } else { name };
        let directory = match (&base, above) {
            (Base::Directory(_), b"") => match base {
                Base::Directory(directory) => directory,
                Base::Root => return Err(Errno::INVAL),
            },
            (Base::Root, _) => Arc::new(open_directory(CWD, if above.is_empty() { b"/" } else { above })?),
            (Base::Directory(from), above) => Arc::new(open_directory(from, above)?),
        };
        let shown = self.path_of(&directory)?;
        if let Some(rest) = in_proc(shown.as_os_str().as_bytes()) {
            return Ok(Led::IntoProc([&rest, b"/".as_slice(), name].concat()));
        }
        self.broker.standing.check(&directory, &shown, &self.broker.proc)?;
        Ok(Led::To(Place { directory, path: shown, name: CString::new(name).map_err(|_| Errno::INVAL)? }))
    }

    /// Leaves /proc again through one of the caller's own doors.
    fn through_proc(&self, rest: Vec<u8>) -> Result<Led, Errno> {
        let own = rest.strip_prefix(b"self/").or_else(|| rest.strip_prefix(b"thread-self/"));
        let Some(own) = own else { return self.by_own_number(rest) };
        let beyond = |name: &[u8]| {
            let tail = own.strip_prefix(name)?.strip_prefix(b"/")?;
            (!tail.is_empty()).then(|| tail.to_vec())
        };
        if let Some(tail) = beyond(b"root") {
            return self.enter(Base::Root, &[b"/".as_slice(), &tail].concat());
        }
        if let Some(tail) = beyond(b"cwd") {
            let here = PathArgument { directory: libc::AT_FDCWD, address: 0 };
            return self.enter(self.base(here, &tail)?, &tail);
        }
        if let Some(tail) = beyond(b"fd")
            && let Some(slash) = tail.iter().position(|byte| *byte == b'/')
            && let Some(number) =
                std::str::from_utf8(&tail[..slash]).ok().and_then(|number| number.parse().ok())
        {
            let below = &tail[slash + 1..];
            return self.enter(Base::Directory(Arc::new(self.descriptor(number)?)), below);
        }
        Ok(Led::IntoProc(rest))
    }

    /// `/proc/123/...` where 123 is the caller itself.
    fn by_own_number(&self, rest: Vec<u8>) -> Result<Led, Errno> {
        let slash = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
        let number = std::str::from_utf8(&rest[..slash]).ok().and_then(|number| number.parse::<u32>().ok());
        match number {
            Some(number) if number == self.identity().pid => {
                self.through_proc([b"self", &rest[slash..]].concat())
            }
            _ => Ok(Led::IntoProc(rest)),
        }
    }

    /// Resolves what is to be read: also through the doors of other processes, which the kernel would take.
    pub(super) fn lead_to_read(&self, argument: PathArgument, follow: Follow) -> Result<Led, Errno> {
        match self.lead(argument, follow)? {
            Led::IntoProc(rest) => match self.beyond_door(&rest) {
                Some(path) => self.walk(Base::Root, path, follow),
                None => Ok(Led::IntoProc(rest)),
            },
            led => Ok(led),
        }
    }

    /// Where a path leads that goes on behind somebody's door out of /proc.
    fn beyond_door(&self, rest: &[u8]) -> Option<Vec<u8>> {
        let mut names: Vec<&[u8]> =
            rest.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
        let own = self.identity().pid.to_string();
        if matches!(names.first(), Some(&b"self" | &b"thread-self")) {
            names[0] = own.as_bytes();
        }
        let door = names.iter().position(|name| DOORS.iter().any(|door| door.as_bytes() == *name))?;
        let last = if names[door] == b"fd" { door + 1 } else { door };
        let behind = names.get(last + 1..).filter(|behind| !behind.is_empty())?;
        let link = [b"/proc/", names[..=last].join(&b'/').as_slice()].concat();
        let target = readlinkat(CWD, link, Vec::new()).ok()?.into_bytes();
        (target.first() == Some(&b'/')).then(|| [target.as_slice(), b"/", &behind.join(&b'/')].concat())
    }

    /// The path of an open directory, as everybody in the sandbox sees it.
    pub(super) fn path_of(&self, directory: &OwnedFd) -> Result<PathBuf, Errno> {
        let number = CString::new(directory.as_raw_fd().to_string()).map_err(|_| Errno::INVAL)?;
        let path = readlinkat(&self.broker.own_descriptors, number, Vec::with_capacity(256))?;
        match path.to_bytes().first() {
            Some(b'/') => Ok(PathBuf::from(OsStr::from_bytes(path.to_bytes()))),
            // Cut off from everything: nothing can be said about it.
            _ => Err(Errno::ACCESS),
        }
    }
}

impl Place {
    /// The one true path.
    pub(super) fn full(&self) -> PathBuf {
        let name = plain(&self.name);
        if name.to_bytes() == b"." {
            self.path.clone()
        } else {
            self.path.join(OsStr::from_bytes(name.to_bytes()))
        }
    }
}

/// The name without the slash behind it.
pub(super) fn plain(name: &CStr) -> CString {
    let bytes = name.to_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(bytes.len(), |last| last + 1);
    CString::new(&bytes[..end]).unwrap_or_default()
}

fn open_directory(from: impl std::os::fd::AsFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    openat2(from, path, PLACE, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
}

/// What lies behind /proc, if that is where a path begins.
fn in_proc(path: &[u8]) -> Option<Vec<u8>> {
    let path = Path::new(OsStr::from_bytes(path));
    if let Ok(rest) = path.strip_prefix("/proc") {
        // What comes before a `..` there is a directory and no link, `self` apart, which leads nowhere else.
        let mut tidy = PathBuf::new();
        let mut parts = rest.components();
        while let Some(part) = parts.next() {
            match part {
                // Out of /proc again.
                Component::ParentDir if tidy.as_os_str().is_empty() => {
                    let rest = Path::new("/").join(parts.as_path());
                    return in_proc(rest.as_os_str().as_bytes());
                }
                Component::ParentDir => drop(tidy.pop()),
                Component::CurDir => {}
                other => tidy.push(other),
            }
            // A door out of /proc: what follows is not about it.
            if tidy.iter().count() == 2 && DOORS.iter().any(|door| tidy.ends_with(door)) {
                tidy.push(parts.as_path());
                break;
            }
        }
        return Some(tidy.into_os_string().into_encoded_bytes());
    }
    // A link of our own making, which would lead the broker to itself.
    let number = path.strip_prefix("/dev/fd").ok().filter(|rest| !rest.as_os_str().is_empty())?;
    Some([b"self/fd/", number.as_os_str().as_bytes()].concat())
}

/// How files are looked at without waiting for anybody or following anything.
pub(super) const LOOK: OFlags =
    OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);
