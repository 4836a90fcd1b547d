//! A client inside TLS that had not said enough when its stream had to be carried on.

use super::refusals;
use crate::gateway::Admitted;
use crate::http::{Likeness, looks_like_http};
use crate::relay::BreakOff;
use bytes::{Bytes, BytesMut};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// A stream that fails as soon as its first words turn out to be a request.
pub(super) struct Watched<'a, S> {
    stream: S,
    admitted: &'a Admitted,
    /// The first words, as long as they could be a request.
    heard: Option<BytesMut>,
}

impl<'a, S> Watched<'a, S> {
    /// Watches a client that has said `first` already, which is no request so far.
    pub(super) fn new(stream: S, admitted: &'a Admitted, first: &Bytes) -> Self {
        let is_open = matches!(looks_like_http(first), Likeness::NeedMore | Likeness::Hardly);
        let heard = is_open.then(|| BytesMut::from(&first[..]));
        Self { stream, admitted, heard }
    }

    fn look(&mut self, said: &[u8]) -> io::Result<()> {
        let Some(heard) = &mut self.heard else { return Ok(()) };
        heard.extend_from_slice(said);
        match looks_like_http(heard) {
            Likeness::NeedMore | Likeness::Hardly => Ok(()),
            Likeness::No => {
                self.heard = None;
                Ok(())
            }
            Likeness::Yes => {
                let denied = self.admitted.refuse(refusals::late_http(&self.admitted.target));
                Err(io::Error::new(io::ErrorKind::PermissionDenied, denied.refusal.reason))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<'_, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, into))?;
        Poll::Ready(self.look(&into.filled()[before..]))
    }
}

crate::through::write_through!(stream for Watched<'_, S>);

impl<S: BreakOff> BreakOff for Watched<'_, S> {
    fn break_off(&mut self) {
        self.stream.break_off();
    }
}
