//! Both directions of one connection.

use super::buffers::Buffers;
use super::duplex::Duplex;
use crate::gateway::{Admitted, Direction, Meter};
use bytes::Bytes;
use std::io;

/// After this many bytes without waiting the other tasks of the thread get their turn.
const TURN: usize = 1024 * 1024;

/// Carries bytes both ways until both sides have ended, one has failed, a limit is reached or the policy has
/// changed. `first` was read from the client already and goes first.
///
/// An end of data is passed on as such: the other direction goes on. Anything else is passed on as an error.
pub(crate) async fn relay<C: Duplex, U: Duplex>(
    client: C,
    upstream: U,
    admitted: &Admitted,
    first: Bytes,
) -> io::Result<()> {
    let buffers = admitted.buffers();
    let meter = admitted.meter();
    let outward = async {
        write(&upstream, &first, meter, Direction::Sent).await?;
        drop(first);
        pump(&client, &upstream, buffers, meter, Direction::Sent).await?;
        admitted.drained();
        Ok(())
    };
    let inward = pump(&upstream, &client, buffers, meter, Direction::Received);
    let both = async { tokio::try_join!(outward, inward).map(|_| ()) };
    let result = tokio::select! {
        biased;
        result = both => result,
        () = admitted.closed() => Err(io::Error::new(io::ErrorKind::PermissionDenied, "no longer allowed")),
    };
    if result.is_err() {
        client.abort();
        upstream.abort();
    }
    result
}

async fn pump(
    from: &impl Duplex,
    to: &impl Duplex,
    buffers: &Buffers,
    meter: &Meter,
    direction: Direction,
) -> io::Result<()> {
    loop {
        from.readable().await?;
        let mut buffer = buffers.take();
        let mut carried = 0;
        loop {
            let read = match from.try_read(&mut buffer) {
                Ok(0) => return to.finish().or_else(gone),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            write(to, &buffer[..read], meter, direction).await?;
            carried += read;
            if carried >= TURN {
                carried = 0;
                tokio::task::yield_now().await;
            }
        }
    }
}

async fn write(to: &impl Duplex, mut bytes: &[u8], meter: &Meter, direction: Direction) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    meter.take(bytes.len(), direction).await.map_err(|reached| io::Error::other(reached.refusal.reason))?;
    while !bytes.is_empty() {
        match to.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => to.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whoever has gone already needs no end.
fn gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotConnected { Ok(()) } else { Err(error) }
}
