//! Both directions of a connection whose ends are more than sockets: TLS, upgraded HTTP.

use super::buffers::{Buffer, Buffers};
use crate::gateway::{Admitted, Direction, Meter};
use bytes::Bytes;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, split};

/// Like [`relay`](super::relay), for streams that have no readiness of their own.
pub(crate) async fn relay_streams<C, U>(
    client: C,
    upstream: U,
    admitted: &Admitted,
    first: Bytes,
) -> io::Result<()>
where
    C: AsyncRead + AsyncWrite + Unpin,
    U: AsyncRead + AsyncWrite + Unpin,
{
    let (from_client, to_client) = split(client);
    let (from_upstream, mut to_upstream) = split(upstream);
    let (buffers, meter) = (admitted.buffers(), admitted.meter());
    let outward = async {
        write(&mut to_upstream, &first, meter, Direction::Sent).await?;
        drop(first);
        pump(from_client, to_upstream, buffers, meter, Direction::Sent).await?;
        admitted.drained();
        Ok(())
    };
    let inward = pump(from_upstream, to_client, buffers, meter, Direction::Received);
    let both = async { tokio::try_join!(outward, inward).map(|_| ()) };
    tokio::select! {
        biased;
        result = both => result,
        () = admitted.closed() => Err(io::Error::new(io::ErrorKind::PermissionDenied, "no longer allowed")),
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    buffers: &Buffers,
    meter: &Meter,
    direction: Direction,
) -> io::Result<()> {
    loop {
        let (buffer, read) = read(&mut from, buffers).await?;
        if read == 0 {
            drop(buffer);
            return to.shutdown().await;
        }
        write(&mut to, &buffer[..read], meter, direction).await?;
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

async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    meter: &Meter,
    direction: Direction,
) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    meter.take(bytes.len(), direction).await.map_err(|reached| io::Error::other(reached.refusal.reason))?;
    to.write_all(bytes).await?;
    to.flush().await
}
