//! One overlay.

use super::apply::{self, Applied, Apply};
use super::change::{Change, Selection};
use super::compare;
use super::diff::{self, Lines};
use super::error::OverlayError;
use super::record::Record;
use super::remove;
use super::tree::{Owner, Tree};
use crate::private;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a sandbox that is just ending is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Changes to one workspace that are held back.
#[derive(Clone, Debug)]
pub struct Overlay {
    id: String,
    directory: PathBuf,
    record: Record,
}

impl Overlay {
    pub(super) fn new(id: String, directory: PathBuf, record: Record) -> Self {
        Self { id, directory, record }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name it was given.
    pub fn name(&self) -> Option<&str> {
        self.record.name.as_deref()
    }

    /// Its name, or its id where it has none.
    pub fn label(&self) -> String {
        self.name().unwrap_or(&self.id).to_owned()
    }

    /// The workspace it was made for.
    pub fn workspace(&self) -> PathBuf {
        self.record.workspace()
    }

    /// When it was made, in milliseconds since 1970.
    pub fn created(&self) -> u64 {
        self.record.created
    }

    /// The directory its changes are kept in: `upper` holds them as the kernel's overlayfs does.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Everything that is different from the workspace as it is now, in the order of paths.
    pub fn changes(&self) -> Result<Vec<Change>, OverlayError> {
        let (host, upper) = self.trees()?;
        compare::changes(&self.record, &host, &upper)
    }

    /// Writes changes as a unified diff. Names are quoted; the contents of files are written as they are.
    pub fn write_diff(&self, changes: &[Change], out: &mut dyn Write) -> Result<(), OverlayError> {
        let (host, upper) = self.trees()?;
        for change in changes {
            diff::write(change, &host, &upper, out)?;
        }
        Ok(())
    }

    /// How many lines each change adds and removes, in their order.
    pub fn count(&self, changes: &[Change]) -> Result<Vec<Lines>, OverlayError> {
        let (host, upper) = self.trees()?;
        changes.iter().map(|change| diff::count(change, &host, &upper)).collect()
    }

    /// Brings changes into the workspace. Nothing is done where the workspace has changed, too, unless those
    /// changes are to be overwritten; each file comes whole or not at all.
    pub fn apply(&mut self, wish: &Apply<'_>) -> Result<Applied, OverlayError> {
        let _claim = self.claim()?;
        // A run that was waited for has noted something.
        self.record = Record::read(&self.directory)?;
        let (host, upper) = self.trees()?;
        compare::note_directories(&mut self.record, &host, &upper);
        let changes = compare::changes(&self.record, &host, &upper)?;
        let held = changes.len();
        let chosen = wish.selection.of(changes);
        let label = self.label();
        let applied = apply::apply(&mut self.record, label, (&host, &upper), &chosen, wish);
        // What was done is noted even if something failed in the end.
        self.record.write(&self.directory)?;
        let mut applied = applied?;
        applied.remaining = held.saturating_sub(applied.changes.len());
        Ok(applied)
    }

    /// Throws the changes away.
    pub fn discard(self) -> Result<(), OverlayError> {
        let _claim = self.claim()?;
        remove::remove(&self.directory).map_err(OverlayError::io("remove", &self.directory))
    }

    /// Throws the overlay away if it holds no change.
    pub fn discard_if_empty(mut self) -> Result<Option<Self>, OverlayError> {
        self.note_directories()?;
        if self.changes()?.is_empty() {
            return self.discard().map(|()| None);
        }
        Ok(Some(self))
    }

    /// The changes a selection means.
    pub fn selected(&self, selection: &Selection) -> Result<Vec<Change>, OverlayError> {
        self.changes().map(|changes| selection.of(changes))
    }

    /// Notes how directories of the workspace are before somebody changes them. Whoever has the overlay now does it
    /// in the end.
    fn note_directories(&mut self) -> Result<(), OverlayError> {
        let _claim = match self.claim() {
            Err(OverlayError::InUse { .. }) => return Ok(()),
            claim => claim?,
        };
        self.record = Record::read(&self.directory)?;
        let (host, upper) = self.trees()?;
        compare::note_directories(&mut self.record, &host, &upper);
        self.record.write(&self.directory)
    }

    pub(super) fn check_workspace(&self) -> Result<(), OverlayError> {
        self.trees().map(drop)
    }

    /// The workspace and the layer.
    fn trees(&self) -> Result<(Tree, Tree), OverlayError> {
        let workspace = self.workspace();
        let host = Tree::open(&workspace, Owner::User).map_err(OverlayError::io("open", &workspace))?;
        let found = host.top().map_err(OverlayError::io("open", &workspace))?;
        if found.st_ino != self.record.inode {
            return Err(OverlayError::Moved { workspace, id: self.label() });
        }
        let place = self.directory.join("upper");
        let upper = Tree::open(&place, Owner::Ours).map_err(|errno| self.missing("open", &place, errno))?;
        Ok((host, upper))
    }

    fn missing(&self, act: &'static str, path: &Path, errno: Errno) -> OverlayError {
        match errno {
            Errno::NOENT => OverlayError::Gone { id: self.label() },
            errno => OverlayError::io(act, path)(errno),
        }
    }

    /// Keeps sandboxes out for as long as the descriptor is open; they claim it the same way.
    fn claim(&self) -> Result<OwnedFd, OverlayError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&self.directory, flags, Mode::empty())
            .map_err(|errno| self.missing("open", &self.directory, errno))?;
        match private::lock(&opened, PATIENCE) {
            Ok(()) => {
                // Whoever was waited for may have thrown it away.
                rustix::fs::lstat(&self.directory)
                    .map_err(|errno| self.missing("look at", &self.directory, errno))?;
                Ok(opened)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(OverlayError::InUse { id: self.label() })
            }
            Err(error) => Err(OverlayError::io("lock", &self.directory)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Directories, OverlayStore};
    use std::fs::{self, File};

    #[test]
    fn one_that_goes_while_it_is_waited_for_is_gone() {
        let place = tempfile::tempdir().unwrap();
        let workspace = place.path().join("ws");
        fs::create_dir(&workspace).unwrap();
        let state = ("XDG_STATE_HOME".into(), place.path().as_os_str().to_owned());
        let store = OverlayStore::new(&Directories::new(&[state], None));
        let overlay = store.create(&workspace, None).unwrap();
        let waiting = overlay.clone();
        let run = File::open(overlay.directory()).unwrap();
        run.lock().unwrap();
        let claimed = std::thread::spawn(move || waiting.claim().map(drop));
        std::thread::sleep(Duration::from_millis(100));
        fs::remove_dir_all(overlay.directory()).unwrap();
        drop(run);
        let errors = [claimed.join().unwrap().unwrap_err(), overlay.changes().unwrap_err()];
        for error in errors {
            assert!(matches!(error, OverlayError::Gone { .. }), "{error}");
        }
    }
}
