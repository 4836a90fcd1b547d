//! The stream toward a target.

use crate::gateway::Place;
use crate::relay::{BreakOff, Duplex, Socket};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

/// The stream toward a target: to itself, or to a proxy that leads there.
#[derive(Debug)]
pub(crate) struct Upstream {
    socket: Socket,
    /// The other side of a stream that leads nowhere.
    _nobody: Option<UnixStream>,
    /// Given back once the socket is closed.
    _place: Option<Place>,
}

impl Upstream {
    /// A stream that leads nowhere: it says nothing, not even that it has ended, and takes nothing.
    pub(crate) fn nowhere() -> io::Result<Self> {
        let (socket, nobody) = UnixStream::pair()?;
        rustix::net::shutdown(&nobody, rustix::net::Shutdown::Read)?;
        Ok(Self { _nobody: Some(nobody), ..socket.into() })
    }

    /// Keeps the place of the socket for as long as it is open.
    pub(crate) fn holding(self, place: Place) -> Self {
        Self { _place: Some(place), ..self }
    }

    /// The address at the other end; a socket in the file system has none.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.socket.peer()
    }

    /// Waits until the other side has sent something or has ended, and looks at it without taking it.
    pub(crate) async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.peek(buffer).await
    }
}

impl<S: Into<Socket>> From<S> for Upstream {
    fn from(socket: S) -> Self {
        Self { socket: socket.into(), _nobody: None, _place: None }
    }
}

impl Duplex for Upstream {
    fn readable(&self) -> impl Future<Output = io::Result<()>> + Send {
        self.socket.readable()
    }

    fn writable(&self) -> impl Future<Output = io::Result<()>> + Send {
        self.socket.writable()
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.try_read(buffer)
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.try_write(bytes)
    }

    fn try_give(&self, act: impl FnOnce(BorrowedFd<'_>) -> io::Result<usize>) -> io::Result<usize> {
        self.socket.try_give(act)
    }

    fn finish(&self) -> io::Result<()> {
        self.socket.finish()
    }

    fn abort(&self) {
        self.socket.abort();
    }
}

impl BreakOff for Upstream {
    fn break_off(&mut self) {
        self.abort();
    }
}

impl AsyncRead for Upstream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for Upstream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
