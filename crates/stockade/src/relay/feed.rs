//! Feeding a file to a command that may not want all of it.
//!
//! A command that is given a file reads as much as it likes, and whoever reads next goes on from there:
//! `while read line; do …; done < list` depends on it. A pipe has to be filled ahead, so what the command
//! left unread is given back at the end.

use super::{Outlet, STEP};
use rustix::fs::{SeekFrom, seek};
use rustix::io::{ioctl_fionread, pread};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file on its way into a command.
#[derive(Debug)]
pub(crate) struct Feed {
    file: OwnedFd,
    start: u64,
    to: Outlet,
    delivered: Arc<AtomicU64>,
}

/// What is needed to give the rest back.
#[derive(Debug)]
pub(crate) struct Rest {
    file: OwnedFd,
    start: u64,
    /// The command's end of the pipe: what still lies in it was not read.
    pipe: OwnedFd,
    delivered: Arc<AtomicU64>,
}

impl Feed {
    /// Feeds a file from where it stands. Gives it back where it has no position.
    pub(crate) fn new(
        file: OwnedFd,
        to: OwnedFd,
        pipe: &OwnedFd,
    ) -> Result<(Self, Rest), (OwnedFd, OwnedFd)> {
        let Ok(start) = seek(&file, SeekFrom::Current(0)) else { return Err((file, to)) };
        let (Ok(copy), Ok(pipe), Ok(own)) = (file.try_clone(), pipe.try_clone(), to.try_clone()) else {
            return Err((file, to));
        };
        let Ok(outlet) = Outlet::unshared(own) else { return Err((file, to)) };
        let delivered = Arc::new(AtomicU64::new(0));
        let rest = Rest { file: copy, start, pipe, delivered: Arc::clone(&delivered) };
        Ok((Self { file, start, to: outlet, delivered }, rest))
    }

    /// Feeds until the end of the file, or until nobody reads any more.
    pub(crate) async fn run(mut self) {
        // Either end failing is the end: dropping ours tells the command so.
        let _ = self.pour().await;
    }

    async fn pour(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; STEP];
        loop {
            // Not `read`: the caller's position moves only when it is known how far.
            let at = self.start + self.delivered.load(Ordering::Acquire);
            let count = pread(&self.file, &mut buffer, at)?;
            if count == 0 {
                return Ok(());
            }
            let mut left = &buffer[..count];
            while !left.is_empty() {
                let written = self.to.write(left).await?;
                self.delivered.fetch_add(written as u64, Ordering::Release);
                left = &left[written..];
            }
        }
    }
}

impl Rest {
    /// Moves the caller's position to behind what the command read. The feed must have ended.
    pub(crate) fn give_back(self) {
        let unread = ioctl_fionread(&self.pipe).unwrap_or(0);
        let read = self.delivered.load(Ordering::Acquire).saturating_sub(unread);
        // A position that cannot be set stays where it was, which loses nothing.
        let _ = seek(&self.file, SeekFrom::Start(self.start + read));
    }
}
