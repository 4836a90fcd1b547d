//! Descriptors the caller names by number.

use crate::sys::{duplicate, is_open};
use rustix::fs::{FileType, OFlags};
use std::io;
use std::os::fd::{OwnedFd, RawFd};

/// Our own copies of all of these, or the first that is not open.
///
/// To be called before anything else is opened: a number the caller left free is soon one of our own, and
/// that must not be handed on. For the same reason all are looked at before the first copy is made.
pub(crate) fn claim(numbers: &[RawFd]) -> Result<Vec<OwnedFd>, (RawFd, io::Error)> {
    for number in numbers {
        is_open(*number).map_err(|error| (*number, error))?;
    }
    numbers.iter().map(|number| duplicate(*number).map_err(|error| (*number, error))).collect()
}

/// What a descriptor is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Reading,
    Writing,
}

/// Whether a descriptor can be used for that.
pub(crate) fn check(descriptor: &OwnedFd, wanted: Wanted) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(descriptor)?;
    let unwanted = match wanted {
        Wanted::Reading => OFlags::WRONLY,
        Wanted::Writing => OFlags::RDONLY,
    };
    if flags.contains(OFlags::PATH) || (flags & OFlags::RWMODE) == unwanted {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "opened the other way"));
    }
    if FileType::from_raw_mode(rustix::fs::fstat(descriptor)?.st_mode) == FileType::Directory {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_number_nobody_opened_is_not_claimed_by_chance() {
        let file = File::open("/dev/null").unwrap();
        assert_eq!(claim(&[file.as_raw_fd(), file.as_raw_fd()]).unwrap().len(), 2);
        // The next free number would be the first copy's own.
        let free = duplicate(file.as_raw_fd()).unwrap().as_raw_fd();
        let (number, _) = claim(&[file.as_raw_fd(), 99_999, free]).unwrap_err();
        assert_eq!(number, 99_999);
    }

    #[test]
    fn the_direction_counts() {
        let file = File::open("/dev/null").unwrap().into();
        assert!(check(&file, Wanted::Reading).is_ok());
        assert!(check(&file, Wanted::Writing).is_err());
        assert!(check(&File::open("/").unwrap().into(), Wanted::Reading).is_err());
    }
}
