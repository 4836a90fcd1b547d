//! The small door through which the policy looks at files.
//!
//! Policy is pure; whoever embeds it brings the real file system (or a made-up one in tests).

use crate::{FileKind, Identity};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// Whose rights a sandbox is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Root: inside, every file belongs to whom it belongs outside.
    Root,
    /// Anybody else: inside, files of root look like nobody's.
    Ordinary,
}

/// Looking at files, never changing one. In a big tree several threads look at once.
pub trait Files: Sync {
    /// The whole content.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Who looks.
    fn caller(&self) -> Caller {
        Caller::Ordinary
    }
    /// What the name itself is; symbolic links are not followed.
    fn look(&self, path: &Path) -> io::Result<Identity>;
    /// The path with every symbolic link, `.` and `..` resolved. Every part must exist.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;
    /// Where a symbolic link points, as it is written there.
    fn follow(&self, path: &Path) -> io::Result<PathBuf>;
    /// How many names a file has. Who cannot tell says one.
    fn names(&self, _path: &Path) -> u64 {
        1
    }
    /// Whether this process could change the file under any of its names, if need be after changing its mode. Who
    /// cannot tell says yes.
    fn may_change(&self, _path: &Path) -> bool {
        true
    }
    /// Whether the name itself is a regular file: no directory, link, pipe, socket or device. Who cannot tell what
    /// is not one says yes to all but the first two.
    fn is_plain(&self, path: &Path) -> bool {
        self.look(path).is_ok_and(|found| found.kind == FileKind::File)
    }
    /// Whether it is a regular file, behind links if need be, that this process may execute. Who cannot tell
    /// says no.
    fn runs(&self, _path: &Path) -> bool {
        false
    }
    /// As many bytes of a regular file, behind links if need be, from its beginning. Who cannot tell fails.
    fn beginning(&self, _path: &Path, _bytes: usize) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// The names in a directory, in no particular order. The path has no links in it; where one has come
    /// in since somebody looked, listing should fail.
    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>>;
    /// The same, told one by one, for searches that keep few of them. After an error, what was told
    /// before is not the whole directory.
    fn tell(&self, path: &Path, each: &mut dyn FnMut(&OsStr, FileKind)) -> io::Result<()> {
        for (name, kind) in self.list(path)? {
            each(&name, kind);
        }
        Ok(())
    }
}
