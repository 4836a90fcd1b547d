//! Connecting to the first of several addresses that answers.

use crate::gateway::Place;
use rustix::net::sockopt::set_socket_keepalive;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

/// How long one address has before the next is tried besides it.
const STAGGER: Duration = Duration::from_millis(250);
/// How long all of them have together.
const TIME: Duration = Duration::from_secs(30);
/// Addresses tried for one connection.
const MOST: usize = 12;
/// Of them, at once.
const AT_ONCE: usize = 3;

/// Connects to the first of these that answers. Both families take turns, IPv6 first.
///
/// Each socket has a place of its own; more than the first are tried at once only where there are places.
pub(super) async fn race(addresses: &[IpAddr], port: u16, place: Place) -> io::Result<(TcpStream, Place)> {
    let order: Vec<SocketAddr> =
        in_turns(addresses).into_iter().take(MOST).map(|address| SocketAddr::new(address, port)).collect();
    let reached = match order.as_slice() {
        // Nearly always: no task is needed.
        [only] => timeout(TIME, TcpStream::connect(*only)).await.map(|made| Ok((made?, place))),
        _ => timeout(TIME, run(order, place, TcpStream::connect)).await,
    };
    let (stream, place) = reached.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    // What cannot be set is no reason to give up a connection.
    let _ = stream.set_nodelay(true);
    let _ = set_socket_keepalive(&stream, true);
    Ok((stream, place))
}

async fn run<F, S>(
    order: Vec<SocketAddr>,
    place: Place,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<(S, Place)>
where
    F: Future<Output = io::Result<S>> + Send + 'static,
    S: Send + 'static,
{
    let mut waiting = order.into_iter();
    let places = place.places();
    let mut free = Some(place);
    let mut running = JoinSet::new();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let mut next = Instant::now();
    loop {
        let more = waiting.len() > 0;
        if running.is_empty() && !more {
            return Err(last);
        }
        tokio::select! {
            biased;
            Some(ended) = running.join_next() => match ended {
                Ok((Ok(stream), place)) => return Ok((stream, place)),
                // One that failed makes room for the next at once.
                Ok((Err(error), place)) => (last, next, free) = (error, Instant::now(), Some(place)),
                Err(error) => last = io::Error::other(error),
            },
            () = sleep_until(next), if more && running.len() < AT_ONCE => {
                if let Some(place) = free.take().or_else(|| places.take())
                    && let Some(address) = waiting.next()
                {
                    let connecting = connect(address);
                    running.spawn(async move { (connecting.await, place) });
                }
                next = Instant::now() + STAGGER;
            }
        }
    }
}

fn in_turns(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let mut six = addresses.iter().filter(|address| address.is_ipv6());
    let mut four = addresses.iter().filter(|address| address.is_ipv4());
    let mut order = Vec::with_capacity(addresses.len());
    loop {
        match (six.next(), four.next()) {
            (None, None) => return order,
            (one, other) => order.extend(one.into_iter().chain(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::Places;
    use std::net::Ipv4Addr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::net::TcpListener;

    fn place() -> Place {
        Places::alone(|| 100).take().unwrap()
    }

    /// The most attempts that were under way at once, where nobody ever answers.
    async fn most_at_once(place: Place) -> (usize, usize) {
        let (now, most, tried) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let attempt = |_| {
            tried.fetch_add(1, Ordering::Relaxed);
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(5)).await;
                now.fetch_sub(1, Ordering::Relaxed);
                io::Result::<()>::Err(io::ErrorKind::TimedOut.into())
            }
        };
        let order = (1..=MOST as u16).map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).collect();
        assert!(run(order, place, attempt).await.is_err());
        (most.load(Ordering::Relaxed), tried.load(Ordering::Relaxed))
    }

    #[tokio::test(start_paused = true)]
    async fn few_are_tried_at_once() {
        assert_eq!(most_at_once(place()).await, (AT_ONCE, MOST));
        // Without places it is one after the other.
        assert_eq!(most_at_once(Places::alone(|| 1).take().unwrap()).await, (1, MOST));
    }

    #[test]
    fn families_take_turns() {
        let read = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
        assert_eq!(
            in_turns(&read(&["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"])),
            read(&["2001:db8::1", "192.0.2.1", "192.0.2.2", "192.0.2.3"])
        );
    }

    #[tokio::test]
    async fn one_that_refuses_does_not_hold_up_the_next() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let addresses = [Ipv4Addr::new(127, 9, 9, 9).into(), Ipv4Addr::LOCALHOST.into()];
        let start = Instant::now();
        let (stream, _) = race(&addresses, port, place()).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap().ip(), IpAddr::from(Ipv4Addr::LOCALHOST));
        assert!(start.elapsed() < STAGGER);
    }

    #[tokio::test]
    async fn nobody_there_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let addresses = [Ipv4Addr::new(127, 0, 0, 2).into(), Ipv4Addr::LOCALHOST.into()];
        assert_eq!(
            race(&addresses, port, place()).await.unwrap_err().kind(),
            io::ErrorKind::ConnectionRefused
        );
    }
}
