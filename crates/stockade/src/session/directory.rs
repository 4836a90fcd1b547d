//! The private directory a session's pipes are in.
//!
//! Its owner may make and open what is in it, and nobody may list it: names in it are long random numbers,
//! and only who is told one can open it. It is locked while its session lives. What a launcher left that was
//! killed is swept by the next one, which finds the lock free.

use super::SessionError;
use super::error::pipes;
use crate::{Directories, RealFiles, home, private};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, flock, mkdirat, openat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use stockade_policy::{Files, Identity};

/// Make, open and remove, but not list.
const UNLISTED: Mode = Mode::from_raw_mode(0o300);
/// To list it before it is removed.
const LISTED: Mode = Mode::from_raw_mode(0o700);
/// How long others' work in the same place is waited for: it is a few system calls.
const PATIENCE: Duration = Duration::from_secs(5);
/// How the name of a session's lock ends.
const LOCK: &str = ".lock";

/// A directory that is removed with everything in it when dropped.
#[derive(Debug)]
pub(super) struct RunDirectory {
    path: PathBuf,
    name: String,
    /// The directory it lies in.
    above: OwnedFd,
    directory: OwnedFd,
    identity: Identity,
    /// Held as long as the session lives.
    _lock: OwnedFd,
    /// Names are numbers that only who holds the key can foretell.
    key: RandomState,
    count: AtomicU64,
}

impl RunDirectory {
    /// Makes one, and removes what sessions left that were killed.
    pub(super) fn make(environment: &[(OsString, OsString)]) -> Result<Self, SessionError> {
        let place = place(environment)?;
        let failed = |source: io::Error| SessionError::Directory { path: place.clone(), source };
        Self::make_in(&place).map_err(failed)
    }

    fn make_in(place: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let above = openat(CWD, place, flags, Mode::empty())?;
        let alone = Alone::in_place(&above)?;
        sweep(&above);
        let key = RandomState::new();
        let name = format!("s{:016x}", key.hash_one(std::process::id()));
        let lock = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let lock = openat(&above, lock_of(&name), lock, Mode::RUSR | Mode::WUSR)?;
        let made = (|| {
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            mkdirat(&above, &name, LISTED)?;
            let directory = openat(&above, &name, flags, Mode::empty())?;
            rustix::fs::fchmod(&directory, UNLISTED)?;
            let identity = RealFiles.look(&place.join(&name))?;
            Ok((directory, identity))
        })();
        drop(alone);
        match made {
            Ok((directory, identity)) => {
                let (path, count) = (place.join(&name), AtomicU64::new(0));
                Ok(Self { path, name, above, directory, identity, _lock: lock, key, count })
            }
            Err(error) => {
                remove(&above, &name);
                Err(error)
            }
        }
    }

    /// Where it is, without any link on the way.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn identity(&self) -> Identity {
        self.identity
    }

    /// A name nobody can guess and nobody had before.
    pub(super) fn fresh_name(&self) -> String {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        format!("{count:x}.{:016x}", self.key.hash_one(count))
    }

    /// Makes a pipe under this name and opens our end of it.
    pub(super) fn pipe(&self, name: &str, ours: OFlags) -> Result<OwnedFd, SessionError> {
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(&self.directory, name, FileType::Fifo, mode, 0).map_err(pipes("make a pipe"))?;
        self.open(name, ours)
    }

    /// Opens a pipe that is there.
    pub(super) fn open(&self, name: &str, ours: OFlags) -> Result<OwnedFd, SessionError> {
        openat(&self.directory, name, ours | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
            .map_err(pipes("open a pipe"))
    }

    /// Opens the reading end of a pipe that is there, and lets nobody open another one: who has the pipe open
    /// for writing could take from it what others print.
    pub(super) fn open_alone(&self, name: &str) -> Result<OwnedFd, SessionError> {
        let allow = |mode| {
            rustix::fs::chmodat(&self.directory, name, mode, AtFlags::empty()).map_err(pipes("guard a pipe"))
        };
        allow(Mode::RUSR | Mode::WUSR)?;
        let opened = self.open(name, OFlags::RDONLY)?;
        allow(Mode::WUSR)?;
        Ok(opened)
    }

    /// The same once more. Who may open everything, as root may, need not change it for that.
    pub(super) fn open_alone_again(&self, name: &str) -> Result<OwnedFd, SessionError> {
        self.open(name, OFlags::RDONLY).or_else(|_| self.open_alone(name))
    }

    /// Puts a file there.
    pub(super) fn file(&self, name: &str, content: &[u8]) -> Result<(), SessionError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.directory, name, flags, Mode::RUSR).map_err(pipes("make a file"))?;
        let mut file = std::fs::File::from(file);
        io::Write::write_all(&mut file, content)
            .map_err(|source| SessionError::Pipes { act: "write a file", source })
    }

    /// Removes a name; who has it open goes on.
    pub(super) fn remove(&self, name: &str) {
        // What cannot be removed now goes with the directory.
        let _ = unlinkat(&self.directory, name, AtFlags::empty());
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        remove(&self.above, &self.name);
    }
}

fn lock_of(name: &str) -> String {
    format!("{name}{LOCK}")
}

/// The lock of the place all sessions' directories are in: nobody takes a directory that is being made for
/// one that was left behind.
struct Alone<'a>(&'a OwnedFd);

impl<'a> Alone<'a> {
    fn in_place(place: &'a OwnedFd) -> io::Result<Self> {
        crate::private::lock(place, PATIENCE)?;
        Ok(Self(place))
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

/// Where sessions' directories are: below the runtime directory, which is in memory, or with our own state.
fn place(environment: &[(OsString, OsString)]) -> Result<PathBuf, SessionError> {
    let runtime = environment.iter().find(|(name, _)| name == "XDG_RUNTIME_DIR");
    let runtime = runtime.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute());
    let runtime = runtime.filter(|path| owned(path)).map(|path| path.join("stockade"));
    let state = Directories::new(environment, home(environment).as_deref()).state;
    let mut last = None;
    for candidate in runtime.into_iter().chain([state]) {
        let below = candidate.join("shells");
        let made = private::directory(&candidate)
            .and_then(|()| private::directory(&below))
            .and_then(|()| RealFiles.resolve(&below));
        match made {
            Ok(path) if owned(&path) => return Ok(path),
            Ok(path) => {
                let source = io::Error::other("it belongs to somebody else, or others may change it");
                last = Some(SessionError::Directory { path, source });
            }
            Err(source) => last = Some(SessionError::Directory { path: below, source }),
        }
    }
    Err(last.unwrap_or(SessionError::Closed))
}

/// Whether a directory is ours and nobody else's to change.
fn owned(path: &Path) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    std::fs::symlink_metadata(path).is_ok_and(|seen| {
        let ours = seen.uid() == rustix::process::geteuid().as_raw();
        seen.is_dir() && ours && seen.mode() & OTHERS_WRITE == 0
    })
}

/// Removes directories whose session is gone.
fn sweep(place: &OwnedFd) {
    let Ok(entries) = Dir::read_from(place) else { return };
    for entry in entries.flatten() {
        let Some(name) = entry.file_name().to_str().ok().and_then(|name| name.strip_suffix(LOCK)) else {
            continue;
        };
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(lock) = openat(place, entry.file_name(), flags, Mode::empty()) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove(place, name);
        }
    }
}

/// Removes a session's directory and, last, its lock: what is left in between is found again by the lock.
/// Nobody is told when this fails; the next start tries again.
fn remove(above: &OwnedFd, name: &str) {
    let _ = rustix::fs::chmodat(above, name, LISTED, AtFlags::empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(directory) = openat(above, name, flags, Mode::empty())
        && let Ok(entries) = Dir::read_from(&directory)
    {
        for entry in entries.flatten() {
            let _ = unlinkat(&directory, entry.file_name(), AtFlags::empty());
        }
    }
    let removed = unlinkat(above, name, AtFlags::REMOVEDIR);
    if matches!(removed, Ok(()) | Err(Errno::NOENT)) {
        let _ = unlinkat(above, lock_of(name), AtFlags::empty());
    }
}
