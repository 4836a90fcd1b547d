//! Both directions of a connection whose ends are more than sockets: TLS, upgraded HTTP.

use super::buffers::{Buffer, Buffers};
use super::duplex::BreakOff;
use crate::gateway::{Admitted, Direction, Exchange};
use bytes::Bytes;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, split};

/// Like [`relay`](super::relay), for streams that have no readiness of their own. What they carry counts for
/// the request that led to it, where one did.
pub(crate) async fn relay_streams<C, U>(
    client: C,
    upstream: U,
    admitted: &Admitted,
    exchange: Option<&Exchange>,
    first: Bytes,
) -> io::Result<()>
where
    C: AsyncRead + AsyncWrite + BreakOff + Unpin,
    U: AsyncRead + AsyncWrite + BreakOff + Unpin,
{
    let (mut from_client, mut to_client) = split(client);
    let (mut from_upstream, mut to_upstream) = split(upstream);
    let way = |direction| Way { admitted, exchange, direction };
    let (sent, received) = (way(Direction::Sent), way(Direction::Received));
    let outward = async {
        sent.write(&mut to_upstream, &first).await?;
        drop(first);
        sent.pump(&mut from_client, &mut to_upstream).await?;
        admitted.drained();
        Ok(())
    };
    let inward = received.pump(&mut from_upstream, &mut to_client);
    let both = async { tokio::try_join!(outward, inward).map(|_| ()) };
    let closed = async {
        match exchange {
            Some(exchange) => tokio::select! {
                () = exchange.closed() => {}
                () = admitted.closed() => {}
            },
            None => admitted.closed().await,
        }
    };
    let result = tokio::select! {
        biased;
        result = both => result,
        () = closed => Err(io::Error::new(io::ErrorKind::PermissionDenied, "no longer allowed")),
    };
    if result.is_err() {
        from_client.unsplit(to_client).break_off();
        from_upstream.unsplit(to_upstream).break_off();
    }
    result
}

/// One direction.
struct Way<'a> {
    admitted: &'a Admitted,
    exchange: Option<&'a Exchange>,
    direction: Direction,
}

impl Way<'_> {
    async fn pump(
        &self,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        loop {
            let (buffer, read) = read(from, self.admitted.buffers()).await?;
            if read == 0 {
                drop(buffer);
                return to.shutdown().await;
            }
            self.write(to, &buffer[..read]).await?;
        }
    }

    async fn write(&self, to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.admitted.meter().take(bytes.len(), self.direction).await?;
        if let Some(exchange) = self.exchange {
            exchange.count(bytes.len(), self.direction);
        }
        to.write_all(bytes).await?;
        to.flush().await
    }
}

/// Reads into a buffer that is held only once there is something in it.
async fn read<'a>(
    from: &mut (impl AsyncRead + Unpin),
    buffers: &'a Buffers,
) -> io::Result<(Buffer<'a>, usize)> {
    poll_fn(|context| {
        let mut buffer = buffers.take();
        let mut room = ReadBuf::new(&mut buffer);
        let read = match Pin::new(&mut *from).poll_read(context, &mut room) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(result) => result.map(|()| room.filled().len()),
        };
        Poll::Ready(read.map(|read| (buffer, read)))
    })
    .await
}
