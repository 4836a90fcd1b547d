//! The three names that make a directory a bare repository, while commands run beside.
//!
//! The broker of a sandbox locks the directory from its look at the names beside until its act is done. So does
//! whoever applies changes: neither can complete what the other one has begun.

use super::tree::Place;
use crate::private;
use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// No broker holds a lock longer.
const PATIENCE: Duration = Duration::from_secs(1);

const PARTS: [&str; 3] = ["HEAD", "objects", "refs"];

/// A directory that nobody else makes a repository of. Dropping it gives it free.
#[derive(Debug)]
pub(super) struct Locked {
    /// Absent on file systems without such locks.
    _directory: Option<OwnedFd>,
}

/// Locks the directory of a name that is one of the three. An error says why the name must not be made there;
/// `completes` does where it would be the last one.
pub(super) fn lock(place: &Place, completes: String) -> Result<Locked, String> {
    let locked = match try_lock(place) {
        Ok(directory) => Locked { _directory: Some(directory) },
        Err(error) if lacks_locks(&error) => Locked { _directory: None },
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            return Err("another process holds a lock on its directory".to_owned());
        }
        Err(error) => return Err(format!("its directory cannot be locked: {error}")),
    };
    let stands = |name: &OsStr| statat(&place.directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let others = PARTS.iter().map(OsStr::new).filter(|name| *name != place.name);
    let last = !stands(&place.name) && others.clone().count() == 2 && others.clone().all(stands);
    if last { Err(completes) } else { Ok(locked) }
}

fn try_lock(place: &Place) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(&place.directory, c".", flags, Mode::empty())?;
    private::lock(&directory, PATIENCE)?;
    Ok(directory)
}

fn lacks_locks(error: &io::Error) -> bool {
    let lacking = [Errno::OPNOTSUPP, Errno::NOSYS, Errno::BADF, Errno::INVAL];
    Errno::from_io_error(error).is_some_and(|errno| lacking.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::path::Path;

    fn place(directory: &Path, name: &str) -> Place {
        Place { directory: File::open(directory).unwrap().into(), name: name.into() }
    }

    #[test]
    fn the_last_of_the_three_is_not_made() {
        let ground = tempfile::tempdir().unwrap();
        let tried = |name: &str| lock(&place(ground.path(), name), "complete".to_owned()).err();
        fs::create_dir(ground.path().join("refs")).unwrap();
        assert_eq!(tried("HEAD"), None);
        fs::create_dir(ground.path().join("objects")).unwrap();
        assert_eq!(tried("HEAD").as_deref(), Some("complete"));
        assert_eq!(tried("objects"), None);
        // What is a repository already stays one.
        fs::write(ground.path().join("HEAD"), "").unwrap();
        assert_eq!(tried("HEAD"), None);
    }

    #[test]
    fn one_at_a_time() {
        let ground = tempfile::tempdir().unwrap();
        let held = lock(&place(ground.path(), "HEAD"), String::new()).unwrap();
        let error = lock(&place(ground.path(), "refs"), String::new()).unwrap_err();
        assert!(error.contains("holds a lock"), "{error}");
        drop(held);
        lock(&place(ground.path(), "refs"), String::new()).unwrap();
    }
}
