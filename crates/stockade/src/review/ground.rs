//! The workspace, held open: nothing outside it is ever looked at.

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A walk is given up after this time.
const PATIENCE: Duration = Duration::from_secs(4);
/// Or after this many names.
const MOST_NAMES: u64 = 1_000_000;
/// Content beyond this is not read; times and sizes tell enough.
const MOST_BYTES: u64 = 128 << 20;

/// Where a review takes place.
#[derive(Debug)]
pub(super) struct Ground {
    /// Without links.
    path: PathBuf,
    /// The workspace; before it the layer that holds its changes, where there is one.
    layers: Vec<OwnedFd>,
}

/// How much one walk has used up.
#[derive(Debug)]
pub(super) struct Spending {
    until: Instant,
    names: AtomicU64,
    bytes: AtomicU64,
}

impl Ground {
    pub(super) fn open(workspace: &Path, upper: Option<&Path>) -> io::Result<Self> {
        let path = std::fs::canonicalize(workspace)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let layers = upper.into_iter().chain([path.as_path()]);
        let layers = layers.map(|layer| rustix::fs::open(layer, flags, Mode::empty()));
        let layers = layers.collect::<Result<_, _>>()?;
        Ok(Self { path, layers })
    }

    /// How many layers lie over each other.
    pub(super) fn depth(&self) -> usize {
        self.layers.len()
    }

    /// Opens a directory in each of the first layers; no link on the way is followed. Gives along how many
    /// layers are seen below it: a directory may cover those under it.
    pub(super) fn directories(&self, path: &Path, depth: usize) -> Result<(Vec<OwnedFd>, usize), Errno> {
        let mut opened = Vec::new();
        for (number, layer) in self.layers.iter().take(depth).enumerate() {
            match directory(layer, path) {
                Ok(directory) => {
                    let covers = number + 1 < depth && is_opaque(&directory);
                    opened.push(directory);
                    if covers {
                        return Ok((opened, number + 1));
                    }
                }
                // It went away, is of another layer, or something else came in its place.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => return Err(error),
            }
        }
        Ok((opened, depth))
    }

    /// A directory of a search path as seen from the workspace, if it lies inside.
    pub(super) fn within(&self, directory: &Path) -> Option<PathBuf> {
        let spelled = self.path.join(directory);
        let real = std::fs::canonicalize(&spelled).unwrap_or(spelled);
        Some(real.strip_prefix(&self.path).ok()?.to_owned())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn directory(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let path = or_itself(path);
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
        // An old kernel, or a container's filter that does not know the call: the last name at least.
        Err(Errno::NOSYS | Errno::PERM) => {
            rustix::fs::openat(root, path, flags | OFlags::NOFOLLOW, Mode::empty())
        }
        opened => opened,
    }
}

/// An overlay's mark on a directory that came in the place of another.
fn is_opaque(directory: &OwnedFd) -> bool {
    let marks = ["user.overlay.opaque", "trusted.overlay.opaque"];
    marks.iter().any(|mark| {
        let mut value = [0_u8; 1];
        rustix::fs::fgetxattr(directory, *mark, &mut value[..]).is_ok_and(|_| value == *b"y")
    })
}

fn or_itself(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

impl Spending {
    pub(super) fn begin() -> Self {
        Self { until: Instant::now() + PATIENCE, names: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// Whether there is more to spend.
    pub(super) fn goes_on(&self) -> bool {
        self.names() < MOST_NAMES && Instant::now() < self.until
    }

    /// Takes note of a name; says no when it is one too many.
    pub(super) fn name(&self) -> bool {
        let count = self.names.fetch_add(1, Ordering::Relaxed) + 1;
        // Asking for the time costs more than all the rest.
        if count.is_multiple_of(1024) { self.goes_on() } else { count < MOST_NAMES }
    }

    pub(super) fn names(&self) -> u64 {
        self.names.load(Ordering::Relaxed)
    }

    pub(super) fn may_read(&self, size: u64) -> bool {
        self.bytes.fetch_add(size, Ordering::Relaxed).saturating_add(size) <= MOST_BYTES
    }
}
