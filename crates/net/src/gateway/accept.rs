//! Taking connections in at a door.

use super::admit::refusal;
use super::ward::Ward;
use rustix::net::sockopt::set_socket_linger;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use stockade_policy::{Cause, Host, Target, ViolationKind};
use tokio::net::{TcpListener, TcpStream};

/// Connections of one sandbox that may be open at once.
const MOST_LIVE: usize = 8192;
/// How long to wait when the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(50);

/// Places for connections, shared by all doors of a sandbox.
#[derive(Debug, Default)]
pub(super) struct Places {
    taken: AtomicUsize,
    told: AtomicBool,
}

/// One taken place.
struct Place(Arc<Places>);

impl Places {
    fn take(self: &Arc<Self>, most: usize) -> Option<Place> {
        let place = Place(Arc::clone(self));
        // Given back by the drop of `place` where there is none left.
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        (before < most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The next crowd is a new violation only after this one has halved.
        if self.0.taken.fetch_sub(1, Ordering::Relaxed) <= MOST_LIVE / 2 {
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
        let client = match listener.accept().await {
            Ok((client, _)) => client,
            Err(error) => {
                if !is_about_the_client(&error) {
                    tokio::time::sleep(PAUSE).await;
                }
                continue;
            }
        };
        let Some(place) = places.take(MOST_LIVE) else {
            if !places.told.swap(true, Ordering::Relaxed) {
                ward.refuse(crowded(&listener));
            }
            reset(client);
            continue;
        };
        // Small messages must not wait for more; a socket that cannot be told so still works.
        let _ = client.set_nodelay(true);
        let serving = serve(Arc::clone(&ward), client);
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

fn crowded(listener: &TcpListener) -> stockade_policy::NetRefusal {
    let port = listener.local_addr().map_or(0, |address| address.port());
    let target = Target { host: Host::Address(std::net::Ipv4Addr::LOCALHOST.into()), port };
    let reason = format!("a sandbox may have {MOST_LIVE} connections at once");
    let mut refusal = refusal(&target, Cause::Limit, reason, None);
    refusal.kind = ViolationKind::Limit;
    refusal.subject = format!("{MOST_LIVE} connections");
    refusal
}
