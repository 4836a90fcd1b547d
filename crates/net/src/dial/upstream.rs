//! The stream toward a target.

use crate::gateway::Place;
use crate::relay::Duplex;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{RecvFlags, recv};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// The stream toward a target: to itself, or to a proxy that leads there.
#[derive(Debug)]
pub(crate) struct Upstream {
    inner: Inner,
    /// Given back once the socket is closed.
    _place: Option<Place>,
}

#[derive(Debug)]
enum Inner {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Upstream {
    /// A stream whose other side has ended already: it says nothing and takes nothing.
    pub(crate) fn ended() -> io::Result<Self> {
        UnixStream::pair().map(|(near, _)| near.into())
    }

    /// Keeps the place of the socket for as long as it is open.
    pub(crate) fn holding(self, place: Place) -> Self {
        Self { _place: Some(place), ..self }
    }

    /// The address at the other end; a socket in the file system has none.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        match &self.inner {
            Inner::Tcp(stream) => stream.peer_addr().ok(),
            Inner::Unix(_) => None,
        }
    }

    /// Waits until the other side has sent something or has ended, and looks at it without taking it.
    pub(crate) async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.readable().await?;
            let looked = match &self.inner {
                Inner::Tcp(stream) => stream.try_io(Interest::READABLE, || look(stream, buffer)),
                Inner::Unix(stream) => stream.try_io(Interest::READABLE, || look(stream, buffer)),
            };
            match looked {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }
}

fn look(stream: &impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let (length, _) = recv(stream, buffer, RecvFlags::PEEK)?;
    Ok(length)
}

impl From<TcpStream> for Upstream {
    fn from(stream: TcpStream) -> Self {
        Self { inner: Inner::Tcp(stream), _place: None }
    }
}

impl From<UnixStream> for Upstream {
    fn from(stream: UnixStream) -> Self {
        Self { inner: Inner::Unix(stream), _place: None }
    }
}

impl Duplex for Upstream {
    async fn readable(&self) -> io::Result<()> {
        match &self.inner {
            Inner::Tcp(stream) => stream.readable().await,
            Inner::Unix(stream) => stream.readable().await,
        }
    }

    async fn writable(&self) -> io::Result<()> {
        match &self.inner {
            Inner::Tcp(stream) => stream.writable().await,
            Inner::Unix(stream) => stream.writable().await,
        }
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.inner {
            Inner::Tcp(stream) => stream.try_read(buffer),
            Inner::Unix(stream) => stream.try_read(buffer),
        }
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.inner {
            Inner::Tcp(stream) => stream.try_write(bytes),
            Inner::Unix(stream) => stream.try_write(bytes),
        }
    }

    fn try_give(&self, act: impl FnOnce(BorrowedFd<'_>) -> io::Result<usize>) -> io::Result<usize> {
        match &self.inner {
            Inner::Tcp(stream) => stream.try_io(Interest::READABLE, || act(stream.as_fd())),
            Inner::Unix(stream) => stream.try_io(Interest::READABLE, || act(stream.as_fd())),
        }
    }

    fn try_take(&self, act: impl FnOnce(BorrowedFd<'_>) -> io::Result<usize>) -> io::Result<usize> {
        match &self.inner {
            Inner::Tcp(stream) => stream.try_io(Interest::WRITABLE, || act(stream.as_fd())),
            Inner::Unix(stream) => stream.try_io(Interest::WRITABLE, || act(stream.as_fd())),
        }
    }

    fn finish(&self) -> io::Result<()> {
        use rustix::net::{Shutdown, shutdown};
        match &self.inner {
            Inner::Tcp(stream) => shutdown(stream, Shutdown::Write)?,
            Inner::Unix(stream) => shutdown(stream, Shutdown::Write)?,
        }
        Ok(())
    }

    fn abort(&self) {
        if let Inner::Tcp(stream) = &self.inner {
            let _ = set_socket_linger(stream, Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for Upstream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().inner {
            Inner::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Inner::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Upstream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().inner {
            Inner::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Inner::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().inner {
            Inner::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Inner::Unix(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().inner {
            Inner::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Inner::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
