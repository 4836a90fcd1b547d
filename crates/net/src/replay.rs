//! A stream whose first bytes were read already and are to be read again.

use crate::relay::BreakOff;
use bytes::{Buf, Bytes};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};

/// Gives `first`, then what comes from the stream.
#[derive(Debug)]
pub(crate) struct Replay<S> {
    first: Bytes,
    stream: S,
}

impl<S> Replay<S> {
    pub(crate) fn new(first: Bytes, stream: S) -> Self {
        Self { first, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Replay<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, into);
        }
        let count = self.first.len().min(into.remaining());
        into.put_slice(&self.first[..count]);
        self.first.advance(count);
        Poll::Ready(Ok(()))
    }
}

crate::through::write_through!(stream for Replay<S>);

impl<S: BreakOff> BreakOff for Replay<S> {
    fn break_off(&mut self) {
        self.stream.break_off();
    }
}
