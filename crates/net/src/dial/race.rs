//! Connecting to the first of several addresses that answers.

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

/// Connects to the first of these that answers. Both families take turns, IPv6 first.
pub(super) async fn race(addresses: &[IpAddr], port: u16) -> io::Result<TcpStream> {
    let order: Vec<SocketAddr> =
        in_turns(addresses).into_iter().take(MOST).map(|address| SocketAddr::new(address, port)).collect();
    let stream = match order.as_slice() {
        // Nearly always: no task is needed.
        [only] => timeout(TIME, TcpStream::connect(*only)).await,
        _ => timeout(TIME, run(order)).await,
    };
    let stream = stream.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    // What cannot be set is no reason to give up a connection.
    let _ = stream.set_nodelay(true);
    let _ = set_socket_keepalive(&stream, true);
    Ok(stream)
}

async fn run(order: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = order.into_iter();
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
                Ok(Ok(stream)) => return Ok(stream),
                // One that failed makes room for the next at once.
                Ok(Err(error)) => (last, next) = (error, Instant::now()),
                Err(error) => last = io::Error::other(error),
            },
            () = sleep_until(next), if more => {
                if let Some(address) = waiting.next() {
                    running.spawn(TcpStream::connect(address));
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
    use std::net::Ipv4Addr;
    use tokio::net::TcpListener;

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
        let stream = race(&addresses, port).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap().ip(), IpAddr::from(Ipv4Addr::LOCALHOST));
        assert!(start.elapsed() < STAGGER);
    }

    #[tokio::test]
    async fn nobody_there_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let addresses = [Ipv4Addr::new(127, 0, 0, 2).into(), Ipv4Addr::LOCALHOST.into()];
        assert_eq!(race(&addresses, port).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
