//! A socket in front of a stream that is none, for whoever needs readiness or a descriptor.
//!
//! A pair of sockets within this machine knows one way to end, so what TCP tells with a reset goes beside it.

use super::duplex::{BreakOff, Duplex};
use bytes::BytesMut;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, split};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;

/// What is carried at once.
const PIECE: usize = 16 * 1024;

/// The socket in front of a stream.
#[derive(Debug)]
pub(crate) struct Bridged {
    socket: UnixStream,
    peer: Option<SocketAddr>,
    signs: Arc<Signs>,
}

/// What both ends tell each other.
#[derive(Debug, Default)]
struct Signs {
    /// The stream has failed: what was read from it is not all.
    failed: AtomicBool,
    /// The stream is to end with an error.
    aborted: AtomicBool,
    /// Nobody has the socket any more.
    dropped: Notify,
}

/// Puts a socket in front of a stream. Both are joined for as long as the future runs.
pub(crate) fn bridge<S>(
    stream: S,
    peer: Option<SocketAddr>,
) -> io::Result<(Bridged, impl Future<Output = ()> + Send)>
where
    S: AsyncRead + AsyncWrite + BreakOff + Send + Unpin,
{
    let (socket, far) = UnixStream::pair()?;
    let signs = Arc::<Signs>::default();
    let bridged = Bridged { socket, peer, signs: Arc::clone(&signs) };
    Ok((bridged, join(stream, far, signs)))
}

/// Which side did not come to its end.
enum Broken {
    Stream,
    Socket,
}

async fn join<S>(stream: S, far: UnixStream, signs: Arc<Signs>)
where
    S: AsyncRead + AsyncWrite + BreakOff + Send + Unpin,
{
    let (mut from_stream, mut to_stream) = split(stream);
    let (mut from_socket, mut to_socket) = far.into_split();
    let heard = async {
        tokio::select! {
            result = hear(&mut from_stream, &mut to_socket) => result,
            () = signs.dropped.notified() => Ok(()),
        }
    };
    let said = say(&mut from_socket, &mut to_stream, &signs);
    let result = tokio::try_join!(heard, said);
    let mut stream = from_stream.unsplit(to_stream);
    if matches!(result, Err(Broken::Stream)) {
        signs.failed.store(true, Ordering::Release);
    }
    // It may have been said after the end of what was to be said.
    if result.is_err() || signs.aborted.load(Ordering::Acquire) {
        stream.break_off();
    }
}

/// From the stream to the socket.
async fn hear(from: &mut (impl AsyncRead + Unpin), to: &mut OwnedWriteHalf) -> Result<(), Broken> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await.map_err(|_| Broken::Stream)?;
        if read == 0 {
            // Whoever has gone does not hear of the end.
            let _ = to.shutdown().await;
            return Ok(());
        }
        if to.write_all(&piece[..read]).await.is_err() {
            // Whether that was its end or its failure is told on the other way.
            return Ok(());
        }
    }
}

/// From the socket to the stream.
async fn say(
    from: &mut OwnedReadHalf,
    to: &mut (impl AsyncWrite + Unpin),
    signs: &Signs,
) -> Result<(), Broken> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await.map_err(|_| Broken::Socket)?;
        if read == 0 {
            if signs.aborted.load(Ordering::Acquire) {
                return Err(Broken::Socket);
            }
            return to.shutdown().await.map_err(|_| Broken::Stream);
        }
        let written = async {
            to.write_all(&piece[..read]).await?;
            to.flush().await
        };
        written.await.map_err(|_| Broken::Stream)?;
    }
}

impl Bridged {
    /// The address behind the stream, where it has one.
    pub(super) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Reads what is there into the room that is left in a buffer.
    pub(super) fn try_read_into(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.socket.try_read_buf(buffer).and_then(|read| self.told(read))
    }

    /// An end that is none becomes the error it is.
    fn told(&self, read: usize) -> io::Result<usize> {
        match read {
            0 if self.signs.failed.load(Ordering::Acquire) => Err(io::ErrorKind::ConnectionReset.into()),
            read => Ok(read),
        }
    }
}

impl Drop for Bridged {
    fn drop(&mut self) {
        self.signs.dropped.notify_one();
    }
}

impl Duplex for Bridged {
    fn readable(&self) -> impl Future<Output = io::Result<()>> + Send {
        self.socket.readable()
    }

    fn writable(&self) -> impl Future<Output = io::Result<()>> + Send {
        self.socket.writable()
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.try_read(buffer).and_then(|read| self.told(read))
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.try_write(bytes)
    }

    fn try_give(&self, act: impl FnOnce(BorrowedFd<'_>) -> io::Result<usize>) -> io::Result<usize> {
        self.socket.try_give(act).and_then(|read| self.told(read))
    }

    fn finish(&self) -> io::Result<()> {
        self.socket.finish()
    }

    fn abort(&self) {
        self.signs.aborted.store(true, Ordering::Release);
    }
}

impl AsyncRead for Bridged {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.socket).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        Poll::Ready(if buffer.remaining() == 0 && read == 0 { Ok(()) } else { this.told(read).map(|_| ()) })
    }
}

impl AsyncWrite for Bridged {
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
