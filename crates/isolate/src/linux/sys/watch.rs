//! Waiting for a descriptor in the caller's tokio runtime.

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the runtime this is called in.
pub fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` names the same open descriptor until it is dropped, which is all `register` asks.
    Ok(unsafe { AsyncFd::register(descriptor) }?)
}

/// The same for one that is only waited for to be read: who sends through it must be content with what has room.
/// The other side's reading then wakes nobody.
pub fn watch_reading(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: as above.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }?)
}
