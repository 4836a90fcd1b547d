//! Reading from a descriptor that was given to us.

use super::{ready, watch};
use rustix::event::PollFlags;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::unix::AsyncFd;

/// The reading side of any descriptor: file, pipe, socket or terminal.
///
/// The descriptor is shared with whoever gave it to us, so it is never made non-blocking.
#[derive(Debug)]
pub struct Inlet {
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// Always ready: regular files and devices such as /dev/null.
    Direct(OwnedFd),
    /// May have to be waited for.
    Waited(AsyncFd<OwnedFd>),
}

impl Inlet {
    /// Reads from this descriptor. Needs a tokio runtime.
    pub fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let source = match watch(descriptor) {
            Ok(watched) => Source::Waited(watched),
            // What the kernel cannot watch never has to be waited for.
            Err((descriptor, error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                Source::Direct(descriptor)
            }
            Err((_, error)) => return Err(error),
        };
        Ok(Self { source })
    }

    /// Reads some bytes; 0 is the end.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.source {
            Source::Direct(descriptor) => Ok(rustix::io::read(descriptor, buffer)?),
            Source::Waited(descriptor) => loop {
                let mut guard = descriptor.readable().await?;
                let result = guard.try_io(|descriptor| {
                    ready(descriptor.as_fd(), PollFlags::IN)?;
                    Ok(rustix::io::read(descriptor, &mut *buffer)?)
                });
                if let Ok(result) = result {
                    return result;
                }
            },
        }
    }
}
