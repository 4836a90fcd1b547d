//! Queries over TCP, each after its length.

use super::query::{self, Message};
use super::reply::{self, Carrier};
use super::resolve::{self, Step, Surroundings};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// As long as a client may say nothing between two questions.
const IDLE: Duration = Duration::from_secs(10);
/// As long as one question may take to come, or one answer to be taken.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longer than any question with everything it may bring along.
const LONGEST: usize = 4096;

/// Answers one client until it leaves, falls silent or talks nonsense. One for whom there is no room is sent
/// away at once.
pub(crate) async fn serve_stream<S: Surroundings>(ward: Arc<S>, stream: TcpStream) {
    let Some(_place) = ward.names().room.for_client() else { return };
    // However it ends, it ends for this client alone, and there is nobody to tell.
    let _ = converse(&*ward, stream).await;
}

async fn converse(ward: &impl Surroundings, mut stream: TcpStream) -> io::Result<()> {
    loop {
        let length = usize::from(timeout(IDLE, stream.read_u16()).await??);
        if length > LONGEST {
            return Ok(());
        }
        let mut message = vec![0; length];
        timeout(PATIENCE, stream.read_exact(&mut message)).await??;
        let Some(answer) = answer(ward, &message).await else { return Ok(()) };
        let Ok(length) = u16::try_from(answer.len()) else { return Ok(()) };
        // In one piece: some clients take the length and the rest for two messages.
        let framed = [&length.to_be_bytes()[..], &answer].concat();
        timeout(PATIENCE, stream.write_all(&framed)).await??;
    }
}

async fn answer(ward: &impl Surroundings, message: &[u8]) -> Option<Vec<u8>> {
    match query::read(message) {
        Message::Noise => None,
        Message::Fault(fault) => Some(reply::write_fault(&fault)),
        Message::Query(query) => {
            let answer = match resolve::consider(ward, &query) {
                Step::Done(answer) => answer,
                Step::LookUp(host) => resolve::look_up(ward, &host, query.kind).await,
            };
            Some(reply::write(&query, &answer, Carrier::Stream))
        }
    }
}
