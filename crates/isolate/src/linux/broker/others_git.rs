//! What git takes for its own, wherever it lies.
//!
//! Inside the writable directories its files are judged by what is in them. Elsewhere nobody looks into them, so that
//! nobody is asked about them either: a yes to one name would have the host's git run or follow what stands there.

use super::process::Broker;
use rustix::fs::{AtFlags, statat};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The names that make a directory a repository.
const PARTS: [&str; 3] = ["HEAD", "objects", "refs"];

impl Broker {
    /// Whether git would believe, or come to believe, what stands at a path.
    pub(super) fn is_gits(&self, path: &Path) -> bool {
        path.iter().any(|name| is(name, ".git"))
            || path.file_name().is_some_and(|name| PARTS.iter().any(|part| is(name, part)))
            || path.ancestors().any(|above| self.is_git_directory(above))
    }

    fn is_git_directory(&self, directory: &Path) -> bool {
        let Ok(below) = directory.strip_prefix("/") else { return false };
        let has = |name: &str| statat(&self.host, below.join(name), AtFlags::SYMLINK_NOFOLLOW).is_ok();
        PARTS.into_iter().all(has) || (has("HEAD") && has("commondir"))
    }
}

/// Some file systems take a name in any letters.
fn is(name: &OsStr, known: &str) -> bool {
    name.as_bytes().eq_ignore_ascii_case(known.as_bytes())
}
