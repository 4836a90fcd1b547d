//! Taking connections in at a door.

use super::ward::Ward;
use rustix::net::sockopt::set_socket_linger;
use rustix::process::{Resource, getrlimit};
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use stockade_policy::{Cause, NetRefusal, Switch, ViolationKind};
use tokio::net::{TcpListener, TcpStream};

/// Connections of one sandbox that may be open at once, where the process has descriptors for so many.
const MOST_LIVE: usize = 8192;
/// What one connection needs at most, and a half to spare for everything else in the process.
const DESCRIPTORS: u64 = 3;
/// How long to wait when the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(50);

/// Places for connections, shared by all doors of a sandbox.
#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    taken: AtomicUsize,
    told: AtomicBool,
}

/// One taken place.
struct Place(Arc<Places>);

impl Places {
    /// As many places as this process can serve.
    pub(super) fn new() -> Arc<Self> {
        let descriptors = getrlimit(Resource::Nofile).current.map(|most| most / DESCRIPTORS);
        let most =
            descriptors.and_then(|most| usize::try_from(most).ok()).unwrap_or(MOST_LIVE).min(MOST_LIVE);
        Self::of(most)
    }

    fn of(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: AtomicUsize::new(0), told: AtomicBool::new(false) })
    }

    fn take(self: &Arc<Self>) -> Option<Place> {
        let place = Place(Arc::clone(self));
        // Given back by the drop of `place` where there is none left.
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        (before < self.most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The next crowd is a new violation only after this one has halved.
        if self.0.taken.fetch_sub(1, Ordering::Relaxed) <= self.0.most / 2 {
            self.0.told.store(false, Ordering::Relaxed);
        }
    }
}

/// Accepts for as long as the gateway lives.
pub(super) async fn accept<F>(
    ward: Arc<Ward>,
    listener: TcpListener,
    places: Arc<Places>,
    serve: impl Fn(Arc<Ward>, TcpStream) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let (client, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                if !is_about_the_client(&error) {
                    tokio::time::sleep(PAUSE).await;
                }
                continue;
            }
        };
        let Some(place) = places.take() else {
            if !places.told.swap(true, Ordering::Relaxed) {
                ward.refuse(crowded(places.most));
            }
            reset(client);
            continue;
        };
        // Small messages must not wait for more; a socket that cannot be told so still works.
        let _ = client.set_nodelay(true);
        let serving = crate::peer::serving(peer, serve(Arc::clone(&ward), client));
        ward.spawn(async move {
            serving.await;
            drop(place);
        });
    }
}

/// Ends a connection so that the other side sees an error at once, not an end of data.
pub(crate) fn reset(client: TcpStream) {
    let _ = set_socket_linger(&client, Some(Duration::ZERO));
}

fn is_about_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

fn crowded(most: usize) -> NetRefusal {
    NetRefusal {
        kind: ViolationKind::Limit,
        subject: format!("{most} connections"),
        cause: Cause::Limit,
        reason: format!("a sandbox may have {most} connections at once"),
        told: None,
        rule: None,
        suggestion: None,
        askable: Switch::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::testing::{Recorder, plan, ward};
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn one_too_many_is_reset_and_told_once() {
        let witness = Recorder::new();
        let ward = ward(plan(&[]), &witness);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let hold = |_, mut client: TcpStream| async move {
            let _ = client.read_u8().await;
        };
        ward.spawn(accept(Arc::clone(&ward), listener, Places::of(2), hold));
        let first = TcpStream::connect(address).await.unwrap();
        let _second = TcpStream::connect(address).await.unwrap();
        for _ in 0..3 {
            let mut more = TcpStream::connect(address).await.unwrap();
            let read =
                tokio::time::timeout(Duration::from_secs(5), more.read_u8()).await.expect("it is not held");
            assert_eq!(read.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        }
        assert_eq!(witness.causes(), [Cause::Limit]);
        drop(first);
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut again = TcpStream::connect(address).await.unwrap();
        let read = tokio::time::timeout(Duration::from_millis(50), again.read_u8()).await;
        assert!(read.is_err(), "it is held, not reset");
    }
}
