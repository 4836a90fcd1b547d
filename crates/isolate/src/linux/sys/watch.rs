//! Waiting for a descriptor in the caller's tokio runtime.

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the runtime this is called in.
pub fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` names the same open descriptor until it is dropped, which is all `register` asks.
    Ok(unsafe { AsyncFd::register(descriptor) }?)
}
