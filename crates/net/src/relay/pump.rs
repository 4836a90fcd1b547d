//! Both directions of one connection.

use super::duplex::Duplex;
use crate::gateway::{Admitted, Direction};
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
    relay_answered(async { Ok(()) }, &client, &upstream, admitted, first).await
}

/// The same for a server whose first `answer` is somebody else's business.
pub(crate) async fn relay_answered<C: Duplex, U: Duplex>(
    answer: impl Future<Output = io::Result<()>>,
    client: &C,
    upstream: &U,
    admitted: &Admitted,
    first: Bytes,
) -> io::Result<()> {
    let beginning = async {
        if !first.is_empty() {
            admitted.meter().take(first.len(), Direction::Sent).await?;
            write(upstream, &first).await?;
        }
        drop(first);
        Ok(())
    };
    relay_after(beginning, answer, client, upstream, admitted).await
}

/// The same for a client whose first words are somebody else's business: what it says from `beginning` on is
/// carried once that is over. What the server says does not wait for it, but for what becomes of its first
/// `answer`.
pub(crate) async fn relay_after<C: Duplex, U: Duplex>(
    beginning: impl Future<Output = io::Result<()>>,
    answer: impl Future<Output = io::Result<()>>,
    client: &C,
    upstream: &U,
    admitted: &Admitted,
) -> io::Result<()> {
    let outward = async {
        beginning.await?;
        pass_on(client, upstream, admitted, Direction::Sent, |_| {}).await?;
        upstream.finish().or_else(gone)?;
        admitted.drained();
        Ok(())
    };
    let inward = async {
        answer.await?;
        pass_on(upstream, client, admitted, Direction::Received, |_| {}).await?;
        client.finish().or_else(gone)
    };
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

/// One direction, to the end of what is said. `look` sees what was passed on.
pub(crate) async fn pass_on(
    from: &impl Duplex,
    to: &impl Duplex,
    admitted: &Admitted,
    direction: Direction,
    look: impl Fn(&[u8]),
) -> io::Result<()> {
    loop {
        from.readable().await?;
        let mut buffer = admitted.buffers().take();
        let mut carried = 0;
        loop {
            let read = match from.try_read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            admitted.meter().take(read, direction).await?;
            write(to, &buffer[..read]).await?;
            look(&buffer[..read]);
            // There is more where a buffer was too small.
            if read == buffer.len() {
                buffer.widen();
            }
            carried += read;
            if carried >= TURN {
                carried = 0;
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Writes everything; what it counts as is somebody else's business.
pub(crate) async fn write(to: &impl Duplex, mut bytes: &[u8]) -> io::Result<()> {
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
