//! Where the sockets of hosted sessions are.
//!
//! A private directory in Stockade's own state, which is masked inside every sandbox. Each session has a lock,
//! which its host holds as long as it lives, and a socket. Sockets are reached through the open directory, so
//! that nobody can put another one in its place, and however long its path is.

use super::{HostError, SessionName};
use crate::{Directories, private};
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, openat, statat, unlinkat};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

/// How long others' work in the directory is waited for: it is a few system calls.
const PATIENCE: Duration = Duration::from_secs(5);
/// How the name of a session's lock ends.
const LOCK: &str = ".lock";
/// How the name of a session's socket ends.
const SOCKET: &str = ".sock";

/// The directory of a user's hosted sessions.
#[derive(Clone, Debug)]
pub struct SessionPlace {
    state: PathBuf,
    path: PathBuf,
}

/// A name that is ours, and the socket behind it. Both are gone when dropped.
#[derive(Debug)]
pub struct Claim {
    name: SessionName,
    directory: OwnedFd,
    listener: UnixListener,
    /// Held as long as the session lives.
    _lock: OwnedFd,
}

impl SessionPlace {
    /// The user's, in Stockade's state directory.
    pub fn new(directories: &Directories) -> Self {
        Self { state: directories.state.clone(), path: directories.state.join("sessions") }
    }

    /// The directory itself.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Takes a name and begins to listen. What dead hosts left is swept.
    pub fn claim(&self, name: SessionName) -> Result<Claim, HostError> {
        private::directory(&self.state)
            .and_then(|()| private::directory(&self.path))
            .map_err(|source| self.unfit(source))?;
        let directory = self.open()?;
        let _alone = Alone::hold(&directory).map_err(|source| self.unfit(source))?;
        sweep(&directory);
        self.claim_in(directory.try_clone(), name)
    }

    fn claim_in(&self, directory: io::Result<OwnedFd>, name: SessionName) -> Result<Claim, HostError> {
        let directory = directory.map_err(|source| self.unfit(source))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = openat(&directory, lock_of(&name), flags, Mode::RUSR | Mode::WUSR)
            .map_err(|error| self.unfit(error.into()))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(HostError::Taken { name: name.to_string() }),
            taken => taken.map_err(|error| self.unfit(error.into()))?,
        }
        let bound = UnixListener::bind(through(&directory, &name)).and_then(|listener| {
            let mode = Mode::RUSR | Mode::WUSR;
            rustix::fs::chmodat(&directory, socket_of(&name), mode, AtFlags::empty())?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        match bound {
            Ok(listener) => Ok(Claim { name, directory, listener, _lock: lock }),
            Err(source) => {
                remove(&directory, &name);
                Err(self.unfit(source))
            }
        }
    }

    /// The sessions that live, by name. What dead ones left is swept.
    pub fn names(&self) -> Result<Vec<SessionName>, HostError> {
        let directory = match self.open() {
            Err(HostError::Place { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(Vec::new());
            }
            opened => opened?,
        };
        let _alone = Alone::hold(&directory).map_err(|source| self.unfit(source))?;
        let mut names = sweep(&directory);
        names.sort();
        Ok(names)
    }

    /// A way to a session's socket: the open directory, and the path through it.
    pub(super) fn way(&self, name: &SessionName) -> Result<(OwnedFd, PathBuf), HostError> {
        let unknown = || HostError::Unknown { name: name.to_string() };
        let directory = match self.open() {
            Err(HostError::Place { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Err(unknown());
            }
            opened => opened?,
        };
        let seen = statat(&directory, socket_of(name), AtFlags::SYMLINK_NOFOLLOW).map_err(|_| unknown())?;
        let ours = seen.st_uid == rustix::process::geteuid().as_raw();
        if FileType::from_raw_mode(seen.st_mode) != FileType::Socket || !ours {
            return Err(self.unfit(io::Error::other(format!("{name}{SOCKET} is not a socket of yours"))));
        }
        let path = through(&directory, name);
        Ok((directory, path))
    }

    /// Opens the directory, if it is what it should be.
    fn open(&self) -> Result<OwnedFd, HostError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory =
            rustix::fs::open(&self.path, flags, Mode::empty()).map_err(|error| self.unfit(error.into()))?;
        let seen = rustix::fs::fstat(&directory).map_err(|error| self.unfit(error.into()))?;
        if seen.st_uid != rustix::process::geteuid().as_raw() {
            return Err(self.unfit(io::Error::other("it belongs to somebody else")));
        }
        if seen.st_mode & 0o077 != 0 {
            return Err(self.unfit(io::Error::other("others may look into it")));
        }
        Ok(directory)
    }

    fn unfit(&self, source: io::Error) -> HostError {
        HostError::Place { path: self.path.clone(), source }
    }
}

impl Claim {
    /// The name.
    pub fn name(&self) -> &SessionName {
        &self.name
    }

    pub(super) fn listener(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Alone: else a host that takes the name this very moment would lose its files to us.
        let _alone = Alone::hold(&self.directory);
        remove(&self.directory, &self.name);
    }
}

/// The lock of the directory, while names in it change.
struct Alone<'a>(&'a OwnedFd);

impl<'a> Alone<'a> {
    fn hold(directory: &'a OwnedFd) -> io::Result<Self> {
        private::lock(directory, PATIENCE)?;
        Ok(Self(directory))
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

/// Removes what dead hosts left, and names those that live.
fn sweep(directory: &OwnedFd) -> Vec<SessionName> {
    let mut living = Vec::new();
    for entry in Dir::read_from(directory).into_iter().flatten().flatten() {
        let Ok(file) = entry.file_name().to_str() else { continue };
        let Some(name) = file.strip_suffix(LOCK).and_then(|name| name.parse::<SessionName>().ok()) else {
            continue;
        };
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(lock) = openat(directory, file, flags, Mode::empty()) else { continue };
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => remove(directory, &name),
            Err(_) => living.push(name),
        }
    }
    living
}

/// The lock goes last: what is left in between is found again by it.
fn remove(directory: &OwnedFd, name: &SessionName) {
    match unlinkat(directory, socket_of(name), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {
            let _ = unlinkat(directory, lock_of(name), AtFlags::empty());
        }
        Err(_) => {}
    }
}

fn lock_of(name: &SessionName) -> String {
    format!("{name}{LOCK}")
}

fn socket_of(name: &SessionName) -> String {
    format!("{name}{SOCKET}")
}

fn through(directory: &OwnedFd, name: &SessionName) -> PathBuf {
    format!("/proc/self/fd/{}/{name}{SOCKET}", directory.as_raw_fd()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn place(top: &std::path::Path) -> SessionPlace {
        SessionPlace { state: top.to_owned(), path: top.join("sessions") }
    }

    fn name(text: &str) -> SessionName {
        text.parse().unwrap()
    }

    #[test]
    fn a_name_is_taken_once_and_free_again() {
        let top = tempfile::tempdir().unwrap();
        let place = place(top.path());
        assert_eq!(place.names().unwrap(), []);
        assert!(matches!(place.way(&name("a")), Err(HostError::Unknown { .. })));
        let claim = place.claim(name("a")).unwrap();
        assert_eq!(place.names().unwrap(), [name("a")]);
        assert!(matches!(place.claim(name("a")), Err(HostError::Taken { .. })));
        let other = place.claim(name("b")).unwrap();
        let (_directory, way) = place.way(&name("a")).unwrap();
        std::os::unix::net::UnixStream::connect(way).unwrap();
        drop(claim);
        assert_eq!(place.names().unwrap(), [name("b")]);
        drop(other);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        place.claim(name("a")).unwrap();
    }

    #[test]
    fn what_a_dead_host_left_is_swept() {
        let top = tempfile::tempdir().unwrap();
        let place = place(top.path());
        drop(place.claim(name("a")).unwrap());
        fs::write(place.path().join("gone.lock"), "").unwrap();
        drop(UnixListener::bind(place.path().join("gone.sock")).unwrap());
        assert_eq!(place.names().unwrap(), []);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_a_private_directory_will_do() {
        let top = tempfile::tempdir().unwrap();
        let place = place(top.path());
        drop(place.claim(name("a")).unwrap());
        assert_eq!(fs::metadata(place.path()).unwrap().permissions().mode() & 0o7777, 0o700);
        for mode in [0o750, 0o701, 0o722] {
            fs::set_permissions(place.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(place.claim(name("a")), Err(HostError::Place { .. })), "{mode:o}");
            assert!(place.names().is_err() && place.way(&name("a")).is_err(), "{mode:o}");
        }
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let moved = top.path().join("moved");
        fs::rename(place.path(), &moved).unwrap();
        symlink(&moved, place.path()).unwrap();
        assert!(matches!(place.claim(name("a")), Err(HostError::Place { .. })));
    }

    #[test]
    fn a_link_or_file_in_the_place_of_a_socket_is_not_followed() {
        let top = tempfile::tempdir().unwrap();
        let place = place(top.path());
        let _claim = place.claim(name("a")).unwrap();
        symlink("a.sock", place.path().join("b.sock")).unwrap();
        fs::write(place.path().join("c.sock"), "").unwrap();
        for wrong in ["b", "c"] {
            assert!(matches!(place.way(&name(wrong)), Err(HostError::Place { .. })), "{wrong}");
        }
    }

    #[test]
    fn a_long_path_is_no_hindrance() {
        let top = tempfile::tempdir().unwrap();
        let state = top.path().join("x".repeat(120)).join("y".repeat(120));
        fs::create_dir_all(&state).unwrap();
        let place = place(&state);
        let claim = place.claim(name("a")).unwrap();
        let (_directory, way) = place.way(&name("a")).unwrap();
        std::os::unix::net::UnixStream::connect(way).unwrap();
        drop(claim);
    }
}
