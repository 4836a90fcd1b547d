//! What can be relayed without a buffer of its own.

use rustix::net::sockopt::set_socket_linger;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

/// A stream whose readiness can be waited for before a buffer is needed.
#[diagnostic::on_unimplemented(note = "streams that are more than sockets go through `relay_streams`")]
pub(crate) trait Duplex: Send + Sync {
    /// Waits until something can be read, or the other side has ended.
    fn readable(&self) -> impl Future<Output = io::Result<()>> + Send;
    /// Waits until something can be written.
    fn writable(&self) -> impl Future<Output = io::Result<()>> + Send;
    /// Reads what is there.
    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes what there is room for.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Lets somebody else read what is there.
    fn try_give(&self, act: impl FnOnce(BorrowedFd<'_>) -> io::Result<usize>) -> io::Result<usize>;
    /// Nothing more will be written.
    fn finish(&self) -> io::Result<()>;
    /// When this is dropped, the other side is to see an error and not an end.
    fn abort(&self);
}

/// The kinds of sockets differ only in how one is ended with an error.
macro_rules! socket {
    ($socket:ty, $abort:expr) => {
        impl Duplex for $socket {
            fn readable(&self) -> impl Future<Output = io::Result<()>> + Send {
                self.readable()
            }

            fn writable(&self) -> impl Future<Output = io::Result<()>> + Send {
                self.writable()
            }

            fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
                self.try_read(buffer)
            }

            fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
                self.try_write(bytes)
            }

            fn try_give(&self, act: impl FnOnce(BorrowedFd<'_>) -> io::Result<usize>) -> io::Result<usize> {
                self.try_io(Interest::READABLE, || act(self.as_fd()))
            }

            fn finish(&self) -> io::Result<()> {
                rustix::net::shutdown(self, rustix::net::Shutdown::Write)?;
                Ok(())
            }

            fn abort(&self) {
                $abort(self)
            }
        }
    };
}

socket!(TcpStream, |socket| {
    let _ = set_socket_linger(socket, Some(Duration::ZERO));
});
// It has only one way to end.
socket!(UnixStream, |_| ());

/// What can be ended so that the other side sees an error and not an end, whatever lies around the socket.
pub(crate) trait BreakOff {
    /// When this is dropped, the other side is to see an error and not an end.
    fn break_off(&mut self);
}

impl BreakOff for TcpStream {
    fn break_off(&mut self) {
        self.abort();
    }
}

impl<S: BreakOff> BreakOff for tokio_rustls::client::TlsStream<S> {
    fn break_off(&mut self) {
        self.get_mut().0.break_off();
    }
}

impl<S: BreakOff> BreakOff for tokio_rustls::server::TlsStream<S> {
    fn break_off(&mut self) {
        self.get_mut().0.break_off();
    }
}
