//! Carrying bytes both ways between streams of any kind, after requests have agreed to it.

use crate::gateway::{Admitted, Direction, Exchange};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const PIECE: usize = 16 * 1024;

/// Carries bytes both ways until both sides have ended, one has failed, a limit is reached or the policy has
/// changed. `first` was read from the client already and goes first.
pub(super) async fn splice<C, S>(
    client: C,
    server: S,
    first: Vec<u8>,
    admitted: &Admitted,
    exchange: &Exchange,
) where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let outward = async {
        pass(&first, &mut to_server, admitted, exchange, Direction::Sent).await?;
        pump(&mut from_client, &mut to_server, admitted, exchange, Direction::Sent).await
    };
    let inward = pump(&mut from_server, &mut to_client, admitted, exchange, Direction::Received);
    tokio::select! {
        // How it ended is in the record.
        _ = async { tokio::try_join!(outward, inward) } => {}
        () = admitted.closed() => {}
    }
}

async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    admitted: &Admitted,
    exchange: &Exchange,
    direction: Direction,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        pass(&piece[..read], to, admitted, exchange, direction).await?;
    }
}

async fn pass(
    bytes: &[u8],
    to: &mut (impl AsyncWrite + Unpin),
    admitted: &Admitted,
    exchange: &Exchange,
    direction: Direction,
) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let taken = admitted.meter().take(bytes.len(), direction).await;
    taken.map_err(|reached| io::Error::other(reached.refusal.reason))?;
    exchange.count(bytes.len(), direction);
    to.write_all(bytes).await?;
    to.flush().await
}
