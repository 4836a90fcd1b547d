//! Servers that answer before they have read everything, and close.
//!
//! The HTTP library gives up as soon as it cannot write, and does not look for an answer that is there already. A
//! refusal of a long upload would be lost.

use super::backlog::Backlog;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long it may take until what a server has said before it was gone can be read. It has arrived already.
const LAST_WORD: Duration = Duration::from_millis(250);

/// A stream to a server. What is written once the server does not listen any more is dropped: reading tells how it
/// ended.
pub(super) struct Unheard<S> {
    stream: S,
    /// Where the server does not listen any more: until when its last word is waited for.
    gone: Option<Pin<Box<Sleep>>>,
    /// Where it is counted what was sent.
    sent: Sent,
}

/// Where it is counted what was sent on a connection, until it is gone.
struct Sent(Arc<Backlog>);

impl Drop for Sent {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<S> Unheard<S> {
    pub(super) fn new(stream: S, backlog: &Arc<Backlog>) -> Self {
        Self { stream, gone: None, sent: Sent(Arc::clone(backlog)) }
    }

    pub(super) fn into_inner(self) -> S {
        self.stream
    }

    /// What is told of a write: that all of it was taken, where nobody takes anything any more.
    fn told<T>(&mut self, context: &mut Context<'_>, written: io::Result<T>, all: T) -> io::Result<T> {
        match written {
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                let mut until = Box::pin(sleep(LAST_WORD));
                // Nobody may be reading at this moment, and has to come back.
                if until.as_mut().poll(context).is_ready() {
                    return Err(error);
                }
                self.gone = Some(until);
                Ok(all)
            }
            other => other,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unheard<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(context, into) {
            return Poll::Ready(read);
        }
        match &mut this.gone {
            Some(until) => until.as_mut().poll(context).map(|()| Err(ErrorKind::BrokenPipe.into())),
            None => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unheard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.gone.is_some() {
            self.sent.0.sent(bytes.len());
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        Poll::Ready(self.told(context, written, bytes.len()).inspect(|written| self.sent.0.sent(*written)))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all = pieces.iter().map(|piece| piece.len()).sum();
        if self.gone.is_some() {
            self.sent.0.sent(all);
            return Poll::Ready(Ok(all));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, pieces));
        Poll::Ready(self.told(context, written, all).inspect(|written| self.sent.0.sent(*written)))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.gone.is_some() {
            return Poll::Ready(Ok(()));
        }
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(context));
        Poll::Ready(self.told(context, flushed, ()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
