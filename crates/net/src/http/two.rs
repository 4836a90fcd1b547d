//! The two halves of one HTTP/2 stream of a client, as what the rest of the gateway knows.

use super::flow::BoxError;
use crate::relay::BreakOff;
use bytes::{Buf, Bytes};
use h2::{Reason, RecvStream, SendStream};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The body of a request.
#[derive(Debug)]
pub(super) struct Received {
    stream: RecvStream,
    /// What is still to come, where the head says it. The library holds the client to it.
    left: Option<u64>,
}

impl Received {
    /// The body of a request with these headers.
    pub(super) fn new(headers: &HeaderMap, stream: RecvStream) -> Self {
        let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let left = if stream.is_end_stream() { Some(0) } else { length };
        Self { stream, left }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(piece) = ready!(self.stream.poll_data(cx)) {
            let piece = piece?;
            self.stream.flow_control().release_capacity(piece.len())?;
            self.left = self.left.map(|left| left.saturating_sub(piece.len() as u64));
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        let trailers = ready!(self.stream.poll_trailers(cx))?;
        Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// A tunnel, from the client's words on.
#[derive(Debug)]
pub(super) struct Tunnel {
    receive: RecvStream,
    send: SendStream<Bytes>,
    /// What has arrived and was not read.
    held: Bytes,
}

impl Tunnel {
    /// The tunnel of a stream whose request was answered.
    pub(super) fn new(receive: RecvStream, send: SendStream<Bytes>) -> Self {
        Self { receive, send, held: Bytes::new() }
    }
}

impl BreakOff for Tunnel {
    fn break_off(&mut self) {
        self.send.send_reset(Reason::CONNECT_ERROR);
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.held.is_empty() {
            match ready!(self.receive.poll_data(cx)) {
                None => return Poll::Ready(Ok(())),
                Some(piece) => self.held = piece.map_err(broken)?,
            }
        }
        let count = self.held.len().min(into.remaining());
        into.put_slice(&self.held[..count]);
        self.held.advance(count);
        // From here on the client may send as much again.
        let freed = self.receive.flow_control().release_capacity(count);
        Poll::Ready(freed.map_err(broken))
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.send.reserve_capacity(bytes.len());
        // Only changes are told, and a change may be none.
        while self.send.capacity() == 0 {
            match ready!(self.send.poll_capacity(cx)) {
                Some(room) => drop(room.map_err(broken)?),
                None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            }
        }
        let count = self.send.capacity().min(bytes.len());
        let sent = self.send.send_data(Bytes::copy_from_slice(&bytes[..count]), false);
        Poll::Ready(sent.map(|()| count).map_err(broken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.send.send_data(Bytes::new(), true).map_err(broken))
    }
}

fn broken(error: h2::Error) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, error)
}
