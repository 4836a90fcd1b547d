//! A command's input before its shell has opened it.

use super::SessionError;
use super::directory::RunDirectory;
use super::error::pipes;
use super::processes::has_open;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{OFlags, Stat, fstat};
use rustix::process::Pid;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

/// How long it may take from an open on the shell's behalf until the shell has it.
const PAUSE: Duration = Duration::from_millis(2);

/// Both ends of a pipe. Without a writer the shell would wait for one when it opens it; without a reader what
/// was written, and closed, before would be gone. Dropped when the shell has its end: from then on each side
/// hears when the other one is gone.
#[derive(Debug)]
pub(super) struct Entry {
    opened: AsyncFd<OwnedFd>,
    pipe: Stat,
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
        // After our own opens, so that the next one is the shell's, or somebody's who looks into the pipe.
        inotify::add_watch(&notes, directory.path().join(name), WatchFlags::OPEN)
            .map_err(pipes("watch a pipe"))?;
        let opened = stockade_isolate::watch(notes).map_err(watched)?;
        let sender = pipe::Sender::from_owned_fd(sender).map_err(watched)?;
        let pipe = fstat(&reader).map_err(pipes("watch a pipe"))?;
        Ok((sender, Self { opened, pipe, _reader: reader, _writer: writer }))
    }
}

/// Resolves when the shell has its end; never where there is nothing to open.
pub(super) async fn opened(entry: Option<&Entry>, shell: Pid) {
    let Some(entry) = entry else { return std::future::pending().await };
    // An error would leave both ends here: as if it had been opened, nobody waits for ever.
    if entry.opened.readable().await.is_ok() {
        while !has_open(shell, &entry.pipe) {
            tokio::time::sleep(PAUSE).await;
        }
    }
}
