//! Where overlays are kept.

use super::error::OverlayError;
use super::layer::Overlay;
use super::record::{NOTED, Record};
use super::remove;
use super::tree::{Owner, Tree};
use crate::{Directories, private};
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest name.
const LONGEST_NAME: usize = 64;

/// All overlays of a user.
#[derive(Clone, Debug)]
pub struct OverlayStore {
    place: PathBuf,
}

impl OverlayStore {
    /// The user's, in Stockade's state directory.
    pub fn new(directories: &Directories) -> Self {
        Self { place: directories.state.join("overlays") }
    }

    /// Makes an overlay for a workspace.
    pub fn create(&self, workspace: &Path, name: Option<&str>) -> Result<Overlay, OverlayError> {
        if let Some(name) = name.filter(|name| !is_name(name)) {
            return Err(OverlayError::Name { name: name.to_owned() });
        }
        let workspace = fs::canonicalize(workspace).map_err(OverlayError::io("find", workspace))?;
        let found = Tree::open(&workspace, Owner::User).and_then(|tree| tree.top());
        let found = found.map_err(OverlayError::io("open", &workspace))?;
        if let Some(mount) =
            nested_mount(&workspace).map_err(OverlayError::io("read", "/proc/self/mountinfo"))?
        {
            return Err(OverlayError::NestedMount { workspace, mount });
        }
        self.prepare().map_err(OverlayError::io("make", &self.place))?;
        self.sweep();
        // Its path goes into a plan, which knows no links.
        let place = fs::canonicalize(&self.place).map_err(OverlayError::io("find", &self.place))?;
        let (id, directory) = self.new_directory(&place)?;
        let made = Record::begin(&directory, &workspace, &found, name.map(str::to_owned))
            .and_then(|record| {
                for part in ["upper", "work"] {
                    private_directory(&directory.join(part))?;
                }
                // The top of what is seen is the layer's; its mode is the workspace's.
                let mode = rustix::fs::Mode::from_raw_mode(found.st_mode & 0o7777);
                rustix::fs::chmod(directory.join("upper"), mode)?;
                Ok(record)
            })
            .map_err(OverlayError::io("make", &directory))
            .and_then(|record| record.write(&directory).map(|()| record));
        match made {
            Ok(record) => Ok(Overlay::new(id, directory, record)),
            Err(error) => {
                let _ = fs::remove_dir_all(&directory);
                Err(error)
            }
        }
    }

    /// The overlay of this name and workspace; makes it where there is none.
    pub fn named(&self, workspace: &Path, name: &str) -> Result<Overlay, OverlayError> {
        let place = fs::canonicalize(workspace).map_err(OverlayError::io("find", workspace))?;
        // Two runs that begin at once must not both find that there is none.
        let _lock = self.lock().map_err(OverlayError::io("lock", &self.place))?;
        let known = self
            .list()?
            .into_iter()
            .find(|overlay| overlay.name() == Some(name) && overlay.workspace() == place);
        match known {
            Some(overlay) => overlay.check_workspace().map(|()| overlay),
            None => self.create(workspace, Some(name)),
        }
    }

    /// All overlays, oldest first.
    pub fn list(&self) -> Result<Vec<Overlay>, OverlayError> {
        let entries = match fs::read_dir(&self.place) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(OverlayError::io("list", &self.place)(error)),
        };
        let mut overlays = Vec::new();
        for entry in entries {
            let entry = entry.map_err(OverlayError::io("list", &self.place))?;
            let Ok(id) = entry.file_name().into_string() else { continue };
            let directory = fs::canonicalize(entry.path()).unwrap_or(entry.path());
            if let Ok(record) = Record::read(&directory) {
                overlays.push(Overlay::new(id, directory, record));
            }
        }
        overlays.sort_by(|left, right| (left.created(), left.id()).cmp(&(right.created(), right.id())));
        Ok(overlays)
    }

    /// The overlay with this id or name; a name may be given to one overlay of each workspace, and the one whose
    /// workspace `here` lies in is meant.
    pub fn open(&self, asked: &str, here: &Path) -> Result<Overlay, OverlayError> {
        let here = fs::canonicalize(here).map_err(OverlayError::io("find", here))?;
        let mut overlays = self.list()?;
        let by_id = overlays.iter().position(|overlay| overlay.id() == asked);
        let by_name = || {
            let named =
                |overlay: &Overlay| overlay.name() == Some(asked) && here.starts_with(overlay.workspace());
            overlays.iter().position(named)
        };
        match by_id.or_else(by_name) {
            Some(at) => Ok(overlays.swap_remove(at)),
            None => Err(OverlayError::Unknown { asked: asked.to_owned() }),
        }
    }

    /// The one overlay of the workspace that `here` lies in.
    pub fn only(&self, here: &Path) -> Result<Overlay, OverlayError> {
        let here = fs::canonicalize(here).map_err(OverlayError::io("find", here))?;
        let mut overlays = self.list()?;
        overlays.retain(|overlay| here.starts_with(overlay.workspace()));
        match overlays.len() {
            0 => Err(OverlayError::None { workspace: here }),
            1 => Ok(overlays.remove(0)),
            _ => Err(OverlayError::Several {
                workspace: here,
                ids: overlays.iter().map(|overlay| overlay.label()).collect(),
            }),
        }
    }

    /// Makes the place, one directory after the other: the state directory's own rules are about its home.
    fn prepare(&self) -> io::Result<()> {
        if let Some(state) = self.place.parent() {
            private::directory(state)?;
        }
        private::directory(&self.place)
    }

    /// Removes what a process that was killed left half made or half removed. Whoever makes one now is done within
    /// the hour.
    fn sweep(&self) {
        const HOUR: Duration = Duration::from_secs(3600);
        for entry in fs::read_dir(&self.place).into_iter().flatten().flatten() {
            let path = entry.path();
            let age =
                entry.metadata().and_then(|found| found.modified()).ok().and_then(|when| when.elapsed().ok());
            if age.is_some_and(|age| age > HOUR) && !path.join(NOTED).exists() {
                // The next one may have more luck.
                let _ = remove::remove(&path);
            }
        }
    }

    fn lock(&self) -> io::Result<OwnedFd> {
        const PATIENCE: Duration = Duration::from_secs(10);
        self.prepare()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&self.place, flags, Mode::empty())?;
        private::lock(&opened, PATIENCE)?;
        Ok(opened)
    }

    fn new_directory(&self, place: &Path) -> Result<(String, PathBuf), OverlayError> {
        const TRIES: usize = 16;
        for _ in 0..TRIES {
            // The hasher's keys are random, which is all an id needs.
            let number = std::hash::RandomState::new().build_hasher().finish();
            let id = format!("{:08x}", number >> 32);
            let directory = place.join(&id);
            match private_directory(&directory) {
                Ok(()) => return Ok((id, directory)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(OverlayError::io("make", &directory)(error)),
            }
        }
        Err(OverlayError::io("make", place)(io::Error::from(io::ErrorKind::AlreadyExists)))
    }
}

fn private_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)
}

fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    name.len() <= LONGEST_NAME
        && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && name.chars().all(plain)
}

/// Something mounted below a directory.
fn nested_mount(workspace: &Path) -> io::Result<Option<PathBuf>> {
    let table = fs::read("/proc/self/mountinfo")?;
    let mounts =
        table.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    let mut nested = mounts.map(unescaped).filter(|path| path.starts_with(workspace) && path != workspace);
    Ok(nested.next())
}

/// The kernel writes blanks and backslashes in paths as octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, more @ ..] = rest {
        let octal = more.get(..3).filter(|_| *first == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[3..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for (name, expected) in
            [("fix-7", true), ("a.b_c", true), ("", false), ("../x", false), ("7a", false), ("a b", false)]
        {
            assert_eq!(is_name(name), expected, "{name}");
        }
        assert!(!is_name(&"a".repeat(65)));
    }

    #[test]
    fn mount_points_are_read_as_they_are() {
        assert_eq!(unescaped(b"/a\\040b\\134c"), Path::new("/a b\\c"));
        assert_eq!(unescaped(b"/a\\9"), Path::new("/a\\9"));
        assert!(nested_mount(Path::new("/")).unwrap().is_some());
        let place = tempfile::tempdir().unwrap();
        assert_eq!(nested_mount(place.path()).unwrap(), None);
    }
}
