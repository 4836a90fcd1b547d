//! Descriptors the caller names by number.
#![expect(unsafe_code, reason = "the standard library has no safe way from a number to a descriptor")]

use rustix::fs::{FileType, OFlags};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Our own copy of an open descriptor; fails where there is none.
pub(crate) fn duplicate(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC reads no memory, and a number that is not open is answered with EBADF.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Our own copies of all of these, or the first that is not open.
///
/// To be called before anything else is opened: a number the caller left free is soon one of our own, and
/// that must not be handed on. For the same reason all are looked at before the first copy is made.
pub(crate) fn claim(numbers: &[RawFd]) -> Result<Vec<OwnedFd>, (RawFd, io::Error)> {
    for number in numbers {
        // SAFETY: F_GETFD reads no memory, and a number that is not open is answered with EBADF.
        if unsafe { libc::fcntl(*number, libc::F_GETFD) } < 0 {
            return Err((*number, io::Error::last_os_error()));
        }
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
    fn copies_what_is_open() {
        let file = File::open("/dev/null").unwrap();
        assert!(duplicate(file.as_raw_fd()).is_ok());
        assert_eq!(duplicate(99_999).unwrap_err().raw_os_error(), Some(libc::EBADF));
    }

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
