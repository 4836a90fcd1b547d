//! Who is at work behind walls, in all runs and sessions of a user.
//!
//! A listed command runs without walls only where nobody is who could change what it reads meanwhile. So each
//! sandbox holds a file in Stockade's state directory, which no command sees: locked as long as its launcher lives,
//! with the directories in it that the sandbox may write, and which ones those are: whoever renames what is above one
//! must not hide it. The kernel lets go of a lock by itself, and what nobody
//! holds is nobody's. Files stay and are used again, because to make one costs more than all the rest.

use crate::workspaces::Keeping;
use crate::{Directories, private};
use rustix::fs::{FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};
use stockade_policy::{AtWork, Identity, MountKind, Plan, RootView, Worker};

/// Sandboxes with the same directories that are noted at a time.
const MOST: usize = 256;
/// How long a file that nobody holds is left for whoever comes next.
const UNUSED: Duration = Duration::from_secs(3600);
/// Any other byte may stand in a path.
const END: u8 = 0;
/// Which one the root is need not be said.
const ANY: &str = "/";

/// Where they are noted.
#[derive(Debug)]
pub(crate) struct Shifts {
    state: PathBuf,
    directory: PathBuf,
    keeping: Keeping,
}

/// One sandbox, noted for as long as this lives.
#[derive(Debug)]
pub(crate) struct Shift {
    /// Commands do not inherit it: it is closed when a program is started.
    _locked: OwnedFd,
    name: OsString,
}

impl Shifts {
    /// Those of a user.
    pub(crate) fn new(directories: &Directories, keeping: Keeping) -> Self {
        let state = directories.state.clone();
        Self { directory: state.join("shifts"), state, keeping }
    }

    /// Notes a sandbox that is about to be made. One that cannot be noted works all the same: without a home there
    /// is no place for it.
    pub(crate) fn begin(&self, plan: &Plan) -> Option<Shift> {
        let roots = known_roots(plan);
        if roots.is_empty() {
            return None;
        }
        let text: Vec<u8> = roots.iter().flat_map(line).collect();
        let known = private::stable_hash(&text);
        (0..MOST).find_map(|number| {
            let name = OsString::from(format!("{known:016x}-{number}"));
            match self.take(&name, &text) {
                Ok(Some(locked)) => Some(Some(Shift { _locked: locked, name })),
                // Another one like this, or somebody who looks at this very moment.
                Ok(None) => None,
                Err(_) => Some(None),
            }
        })?
    }

    /// Locks a file and has it say this; nothing if somebody holds it.
    fn take(&self, name: &OsStr, text: &[u8]) -> io::Result<Option<OwnedFd>> {
        let path = self.directory.join(name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600));
        let file = match open() {
            Err(Errno::NOENT) if self.keeping == Keeping::Make || self.state.is_dir() => {
                private::directory(&self.directory)?;
                open()?
            }
            opened => opened?,
        };
        match lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            locked => locked?,
        }
        let found = rustix::fs::fstat(&file)?;
        // Whoever looks removes old ones, this one perhaps a moment ago.
        if found.st_nlink == 0 {
            return Ok(None);
        }
        if !says(&file, &found, text)? {
            rustix::fs::ftruncate(&file, 0)?;
            if rustix::io::pwrite(&file, text, 0)? != text.len() {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(Some(file))
    }

    /// Who is at work now, but for one's own. What cannot be told may be anywhere.
    pub(crate) fn at_work(&self, own: Option<&Shift>) -> Vec<AtWork> {
        let anywhere = || vec![AtWork { who: Worker::Sandbox, root: "/".into() }];
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(_) => return anywhere(),
        };
        let mut found = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) if own.is_some_and(|own| own.name == entry.file_name()) => {}
                Ok(entry) => found.extend(held(&entry.path()).unwrap_or_else(|_| anywhere())),
                Err(_) => found.extend(anywhere()),
            }
        }
        found
    }
}

/// How a root is noted: its path, and what it is.
fn line((path, which): &(PathBuf, String)) -> Vec<u8> {
    [path.as_os_str().as_bytes(), &[END], which.as_bytes(), &[END]].concat()
}

/// Who has noted a root, at the path that it had.
fn at_work(path: &[u8], which: &[u8]) -> Option<AtWork> {
    let root = PathBuf::from(OsStr::from_bytes(path));
    let is_there =
        || rustix::fs::lstat(&root).is_ok_and(|found| number(found.st_dev, found.st_ino).as_bytes() == which);
    let who = if which == ANY.as_bytes() || is_there() { Worker::Sandbox } else { Worker::Moved };
    root.is_absolute().then_some(AtWork { who, root })
}

/// Which file it is, whatever it is called.
fn number(dev: u64, ino: u64) -> String {
    format!("{dev}:{ino}")
}

/// What the holder of a file may write; nothing where it has none.
fn held(path: &Path) -> io::Result<Vec<AtWork>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        opened => opened?,
    };
    match lock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            sweep(path, &file);
            Ok(Vec::new())
        }
        Err(Errno::WOULDBLOCK) => {
            let text = fs::read(path)?;
            let mut words: Vec<&[u8]> = text.split(|byte| *byte == END).collect();
            // Behind the last end there is nothing, unless it is only being written.
            let whole = words.pop().is_some_and(<[u8]>::is_empty) && !words.is_empty();
            let (pairs, rest) = words.as_chunks::<2>();
            let found: Option<Vec<AtWork>> = pairs.iter().map(|[path, which]| at_work(path, which)).collect();
            found.filter(|_| whole && rest.is_empty()).ok_or_else(|| io::ErrorKind::InvalidData.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes a file that nobody holds and nobody has needed for some time.
fn sweep(path: &Path, file: &OwnedFd) {
    let age = |found: &Stat| {
        let then = Duration::from_secs(u64::try_from(found.st_mtime).unwrap_or_default());
        Duration::from_millis(private::now()).saturating_sub(then)
    };
    if rustix::fs::fstat(file).is_ok_and(|found| age(&found) > UNUSED)
        && lock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
    {
        // One that stays is in nobody's way.
        let _ = fs::remove_file(path);
    }
}

fn lock(file: &OwnedFd, how: FlockOperation) -> Result<(), Errno> {
    loop {
        match rustix::fs::flock(file, how) {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

/// Whether a file says just this.
fn says(file: &OwnedFd, found: &Stat, text: &[u8]) -> io::Result<bool> {
    if usize::try_from(found.st_size).ok() != Some(text.len()) {
        return Ok(false);
    }
    let mut known = vec![0; text.len()];
    let length = rustix::io::pread(file, &mut known, 0)?;
    Ok(length == text.len() && known == text)
}

/// The directories of the host that a plan opens for writing, the outermost of each. What lies in an overlay is not
/// the host's.
pub(crate) fn roots(plan: &Plan) -> Vec<PathBuf> {
    known_roots(plan).into_iter().map(|(path, _)| path).collect()
}

/// The same, and which ones they are.
fn known_roots(plan: &Plan) -> Vec<(PathBuf, String)> {
    let mut roots: Vec<(PathBuf, String)> = match plan.root {
        RootView::Host { rights } if rights.write => vec![("/".into(), ANY.into())],
        _ => Vec::new(),
    };
    let mut overlaid: Vec<&Path> = Vec::new();
    for mount in &plan.mounts {
        let is_below = |place: &Path| mount.path.starts_with(place);
        match &mount.kind {
            MountKind::Overlay { .. } => overlaid.push(&mount.path),
            MountKind::Bind { rights, identity: Identity { dev, ino, .. } }
                if rights.write
                    && !roots.iter().any(|(root, _)| is_below(root))
                    && !overlaid.iter().any(|place| is_below(place)) =>
            {
                roots.push((mount.path.clone(), number(*dev, *ino)));
            }
            _ => {}
        }
    }
    roots
}

#[cfg(test)]
mod tests;
