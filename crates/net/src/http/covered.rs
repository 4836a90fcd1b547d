//! The server's side of a WebSocket, in whose messages real values are covered.

use crate::credentials::FrameScrubber;
use crate::relay::BreakOff;
use bytes::{Buf, Bytes};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// What is read at once.
const PIECE: usize = 8 * 1024;

/// A server whose messages are looked at, where somebody has to.
pub(super) struct Covered<S> {
    server: S,
    frames: Option<FrameScrubber>,
    /// What was looked at and not given on.
    ready: Bytes,
}

impl<S> Covered<S> {
    /// A server whose messages go through `frames`, where it is given.
    pub(super) fn new(server: S, frames: Option<FrameScrubber>) -> Self {
        Self { server, frames, ready: Bytes::new() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Covered<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(frames) = &mut this.frames else { return Pin::new(&mut this.server).poll_read(cx, into) };
        while this.ready.is_empty() {
            let mut piece = [0; PIECE];
            let mut read = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut this.server).poll_read(cx, &mut read))?;
            if read.filled().is_empty() {
                this.ready = frames.finish();
                break;
            }
            let covered = frames.push(read.filled());
            this.ready = covered.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
        let count = this.ready.len().min(into.remaining());
        into.put_slice(&this.ready[..count]);
        this.ready.advance(count);
        Poll::Ready(Ok(()))
    }
}

crate::through::write_through!(server for Covered<S>);

impl<S: BreakOff> BreakOff for Covered<S> {
    fn break_off(&mut self) {
        self.server.break_off();
    }
}
