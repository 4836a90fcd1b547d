//! Queries in datagrams.

use super::query::{self, Message, Query};
use super::reply::{self, Carrier};
use super::resolve::{self, Step, Surroundings};
use super::room::LOOKUPS;
use super::sys::{self, Ends};
use crate::peer::serving_at_once;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::Host;
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

/// Longer than any question with everything it may bring along.
const LONGEST: usize = 4096;
/// Questions answered before others of the same thread get their turn.
const TURN: usize = 32;
/// Answers that wait for the host: as many as there are places for, and those that are about to hear that
/// there is none. What comes in beyond is dropped, as a network would drop it.
const WAITING: usize = 2 * LOOKUPS + 2 * TURN;
/// A socket that fails again and again must not keep the thread busy.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers the datagrams of one socket, for as long as the task lives.
pub(crate) async fn serve_udp<S: Surroundings>(ward: Arc<S>, socket: OwnedFd) {
    let prepared = sys::prepare(socket.as_fd()).and_then(|()| UdpSocket::from_std(socket.into()));
    let Ok(socket) = prepared.map(Arc::new) else { return };
    let mut buffer = [0; LONGEST];
    let mut waiting = JoinSet::new();
    loop {
        if take_turn(&ward, &socket, &mut buffer, &mut waiting).await.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
        tokio::task::yield_now().await;
    }
}

/// Answers what has come, but not for too long.
async fn take_turn<S: Surroundings>(
    ward: &Arc<S>,
    socket: &Arc<UdpSocket>,
    buffer: &mut [u8],
    waiting: &mut JoinSet<()>,
) -> io::Result<()> {
    socket.readable().await?;
    for _ in 0..TURN {
        let (length, ends) = match socket.try_io(Interest::READABLE, || sys::receive(socket, buffer)) {
            Ok(received) => received,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            // Too long for a question, or the news that an earlier asker is gone.
            Err(error) if is_passing(&error) => continue,
            Err(error) => return Err(error),
        };
        let answered = for_asker(&ends, || answer_at_once(ward, socket, &buffer[..length], &ends));
        let Some((query, host)) = answered else { continue };
        while waiting.try_join_next().is_some() {}
        if waiting.len() < WAITING {
            let (ward, socket) = (ward.clone(), socket.clone());
            waiting.spawn(async move {
                let answer = resolve::look_up(&*ward, &host, query.kind).await;
                send(&socket, &reply::write(&query, &answer, Carrier::Datagram), &ends);
            });
        }
    }
    Ok(())
}

/// Does something for whoever sent a datagram.
fn for_asker<T>(ends: &Ends, work: impl FnOnce() -> T) -> T {
    match ends.asker() {
        Some(asker) => serving_at_once(asker, work),
        None => work(),
    }
}

/// Answers a datagram, or gives back the question where the host has to be asked first.
fn answer_at_once<S: Surroundings>(
    ward: &Arc<S>,
    socket: &UdpSocket,
    bytes: &[u8],
    ends: &Ends,
) -> Option<(Query, Host)> {
    match query::read(bytes) {
        Message::Noise => None,
        Message::Fault(fault) => {
            send(socket, &reply::write_fault(&fault), ends);
            None
        }
        Message::Query(query) => match resolve::consider(&**ward, &query) {
            Step::Done(answer) => {
                send(socket, &reply::write(&query, &answer, Carrier::Datagram), ends);
                None
            }
            Step::LookUp(host) => Some((query, host)),
        },
    }
}

/// An answer that cannot be sent is lost like any datagram: the asker is gone or takes no more.
fn send(socket: &UdpSocket, bytes: &[u8], ends: &Ends) {
    let _ = sys::send(socket, bytes, ends);
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::ConnectionRefused | ErrorKind::Interrupted)
}
