//! Whose connection a task serves.
//!
//! Every connection has a task of its own, and a refusal can come up anywhere in it: far below, nobody but the
//! witness wants to know who is at the other end. So the task knows it, instead of every function on the way.

use std::future::Future;
use std::net::SocketAddr;

tokio::task_local! {
    static PEER: SocketAddr;
}

/// The task's work, done for whoever is at this address inside.
pub(crate) fn serving<F: Future>(peer: SocketAddr, work: F) -> impl Future<Output = F::Output> {
    PEER.scope(peer, work)
}

/// The same for work that does not wait.
pub(crate) fn serving_at_once<T>(peer: SocketAddr, work: impl FnOnce() -> T) -> T {
    PEER.sync_scope(peer, work)
}

/// Work for a task of its own, done for whoever the present task serves.
pub(crate) async fn inheriting<F: Future>(peer: Option<SocketAddr>, work: F) -> F::Output {
    match peer {
        Some(peer) => serving(peer, work).await,
        None => work.await,
    }
}

/// The inner end of the connection that is being served, where it is one.
pub(crate) fn peer() -> Option<SocketAddr> {
    PEER.try_with(|peer| *peer).ok()
}
