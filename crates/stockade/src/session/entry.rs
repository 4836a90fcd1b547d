//! A command's input before its shell has opened it.

use super::SessionError;
use super::directory::RunDirectory;
use super::error::pipes;
use rustix::fs::OFlags;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

/// Both ends of a pipe. Without a writer the shell would wait for one when it opens it; without a reader what
/// was written, and closed, before would be gone. Dropped when the shell has its end: from then on each side
/// hears when the other one is gone.
#[derive(Debug)]
pub(super) struct Entry {
    opened: AsyncFd<OwnedFd>,
    _reader: OwnedFd,
    _writer: OwnedFd,
}

impl Entry {
    /// Makes a pipe under a name, and its writing end for the caller.
    pub(super) fn make(directory: &RunDirectory, name: &str) -> Result<(pipe::Sender, Self), SessionError> {
        let watched = |source| SessionError::Pipes { act: "watch a pipe", source };
        let reader = directory.pipe(name, OFlags::RDONLY)?;
        let writer = directory.open(name, OFlags::WRONLY)?;
        let sender = directory.open(name, OFlags::WRONLY)?;
        let notes =
            inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(pipes("watch a pipe"))?;
        // After our own opens, so that the next one is the shell's.
        inotify::add_watch(&notes, directory.path().join(name), WatchFlags::OPEN)
            .map_err(pipes("watch a pipe"))?;
        let opened = stockade_isolate::watch(notes).map_err(watched)?;
        let sender = pipe::Sender::from_owned_fd(sender).map_err(watched)?;
        Ok((sender, Self { opened, _reader: reader, _writer: writer }))
    }
}

/// Resolves when the shell has opened its end; never where there is nothing to open.
pub(super) async fn opened(entry: Option<&Entry>) {
    match entry {
        // An error would leave both ends here: as if it had been opened, nobody waits for ever.
        Some(entry) => drop(entry.opened.readable().await),
        None => std::future::pending().await,
    }
}
