//! Copying bytes between descriptors of any kind without ever stopping the event loop.

mod feed;
mod inlet;
mod outlet;

pub(crate) use feed::{Feed, Rest};

pub use inlet::Inlet;
pub use outlet::Outlet;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use tokio::io::unix::AsyncFd;

/// What one pipe holds by default; larger steps would only wait.
pub(crate) const STEP: usize = 64 << 10;

/// What most commands never say more than; a whole step is memory that has to be made first.
const FIRST_STEP: usize = 4 << 10;

/// Copies until the input ends or either side fails.
pub(crate) async fn copy(mut from: Inlet, mut to: Outlet) {
    let mut buffer = vec![0; FIRST_STEP];
    // A failed read is the end of the input, and a failed write means that nobody listens any more:
    // dropping both ends tells the command in the way it would have learnt it without us.
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if to.write_all(&buffer[..count]).await.is_err() {
            break;
        }
        if count == buffer.len() {
            buffer.resize(STEP, 0);
        }
    }
}

/// Whether the descriptor would answer right now.
fn ready(descriptor: BorrowedFd<'_>, wanted: PollFlags) -> io::Result<()> {
    let mut asked = [PollFd::from_borrowed_fd(descriptor, wanted)];
    // A signal that comes this very moment ends the question even where nothing has to be waited for.
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match rustix::io::retry_on_intr(|| poll(&mut asked, Some(&now)))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}

/// Watches a descriptor; gives it back where the kernel cannot.
pub(crate) fn watch(descriptor: OwnedFd) -> Result<AsyncFd<OwnedFd>, (OwnedFd, io::Error)> {
    match descriptor.try_clone().and_then(stockade_isolate::watch) {
        Ok(watched) => Ok(watched),
        Err(error) => Err((descriptor, error)),
    }
}
