//! Sockets of every kind that bytes are carried between.

use super::bridge::Bridged;
use super::duplex::{BreakOff, Duplex};
use bytes::BytesMut;
use rustix::net::{RecvFlags, recv};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A stream that is a socket, or stands behind one.
#[derive(Debug)]
pub(crate) enum Socket {
    /// A connection.
    Tcp(TcpStream),
    /// A connection within this machine.
    Unix(UnixStream),
    /// A stream that is more than a socket: TLS, one of many in HTTP/2.
    Bridged(Bridged),
}

/// Does the same with whichever socket it is.
macro_rules! each {
    ($socket:expr, $stream:ident => $act:expr) => {
        match $socket {
            Socket::Tcp($stream) => $act,
            Socket::Unix($stream) => $act,
            Socket::Bridged($stream) => $act,
        }
    };
}

impl Socket {
    /// The address at the other end; a socket in the file system has none.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok(),
            Self::Bridged(stream) => stream.peer(),
            Self::Unix(_) => None,
        }
    }

    /// Reads what is there into the room that is left in a buffer.
    pub(crate) fn try_read_into(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_read_buf(buffer),
            Self::Unix(stream) => stream.try_read_buf(buffer),
            Self::Bridged(stream) => stream.try_read_into(buffer),
        }
    }

    /// Waits until the other side has sent something or has ended, and looks at it without taking it.
    pub(crate) async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.readable().await?;
            match self.try_give(|socket| look(&socket, buffer)) {
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

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        Self::Tcp(stream)
    }
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Self {
        Self::Unix(stream)
    }
}

impl From<Bridged> for Socket {
    fn from(stream: Bridged) -> Self {
        Self::Bridged(stream)
    }
}

impl Duplex for Socket {
    async fn readable(&self) -> io::Result<()> {
        each!(self, stream => Duplex::readable(stream).await)
    }

    async fn writable(&self) -> io::Result<()> {
        each!(self, stream => Duplex::writable(stream).await)
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        each!(self, stream => Duplex::try_read(stream, buffer))
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        each!(self, stream => Duplex::try_write(stream, bytes))
    }

    fn try_give(&self, act: impl FnOnce(BorrowedFd<'_>) -> io::Result<usize>) -> io::Result<usize> {
        each!(self, stream => Duplex::try_give(stream, act))
    }

    fn finish(&self) -> io::Result<()> {
        each!(self, stream => Duplex::finish(stream))
    }

    fn abort(&self) {
        each!(self, stream => Duplex::abort(stream));
    }
}

impl BreakOff for Socket {
    fn break_off(&mut self) {
        self.abort();
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_read(context, buffer))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_write_vectored(context, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), stream => Pin::new(stream).poll_shutdown(context))
    }
}
