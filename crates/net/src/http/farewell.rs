//! The last words to a client.

use crate::relay::{Duplex, Socket, write};
use std::io;
use std::time::Duration;
use tokio::time::timeout;

/// How long a client gets to take its last answer.
const FAREWELL: Duration = Duration::from_secs(2);

/// Gives a client the last it gets. What it still sends is read, or the end of the connection would reach it
/// before what it was sent.
pub(super) async fn farewell(client: &Socket, words: &[u8]) {
    let farewell = async {
        write(client, words).await?;
        client.finish()?;
        let mut rest = [0; 1024];
        loop {
            client.readable().await?;
            match client.try_read(&mut rest) {
                Ok(0) => return io::Result::Ok(()),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
    };
    // Whoever has gone, or does not listen, misses it.
    let _ = timeout(FAREWELL, farewell).await;
}
