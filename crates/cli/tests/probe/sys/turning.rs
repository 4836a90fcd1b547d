//! A path that changes in memory while the kernel, or whoever stands in for it, looks at it.

use super::{call, signed};
use std::ffi::CStr;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU8, Ordering};

/// Memory that holds one name or the other.
pub(crate) struct Turning {
    bytes: Vec<AtomicU8>,
}

impl Turning {
    /// Holds this name at first.
    pub(crate) fn new(name: &CStr) -> Self {
        Self { bytes: name.to_bytes_with_nul().iter().map(|byte| AtomicU8::new(*byte)).collect() }
    }

    /// Holds that name from now on; the longer one decides how much room there is.
    pub(crate) fn turn_to(&self, name: &CStr) {
        for (place, byte) in self.bytes.iter().zip(name.to_bytes_with_nul()) {
            place.store(*byte, Ordering::Relaxed);
        }
    }

    /// Opens whatever it holds at some moment of the call.
    pub(crate) fn open(&self, flags: i32) -> io::Result<OwnedFd> {
        let address = self.bytes.as_ptr() as usize;
        let at = signed(libc::AT_FDCWD);
        let fd = call(libc::SYS_openat, &[at, address, signed(flags | libc::O_CLOEXEC), 0o644])?;
        let fd = RawFd::try_from(fd).map_err(io::Error::other)?;
        // SAFETY: the kernel has just handed out this descriptor and nobody else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Makes a directory of whatever it holds at some moment of the call.
    pub(crate) fn mkdir(&self) -> io::Result<()> {
        let address = self.bytes.as_ptr() as usize;
        call(libc::SYS_mkdirat, &[signed(libc::AT_FDCWD), address, 0o755]).map(drop)
    }
}
