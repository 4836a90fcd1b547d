//! Whoever is told what happens, and asked what may.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use stockade_policy::{ConnectionVerdict as Verdict, NetRefusal, Reply, RuleRef, Via};

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The gateway's ear and mouth.
pub trait Witness: Send + Sync {
    /// Something was refused. Told before whoever is refused knows. `peer` is the inner end of the connection.
    fn refused(&self, refusal: &NetRefusal, peer: Option<SocketAddr>);
    /// Asks whether it may be done after all. Whatever happens instead of an answer is a no, and a no is on
    /// record like everything that is refused.
    fn ask(&self, refusal: &NetRefusal, peer: Option<SocketAddr>) -> BoxFuture<'_, Reply>;
    /// A connection or request is over.
    fn record(&self, record: NetRecord);
}

/// One connection or request, once it is over.
#[derive(Clone, Debug, PartialEq)]
pub struct NetRecord {
    /// The inner end of the connection.
    pub peer: Option<SocketAddr>,
    /// How it came to the gateway.
    pub via: Via,
    /// `host:port`.
    pub target: String,
    /// The address that was dialled.
    pub address: Option<SocketAddr>,
    /// Method and path, where the request could be seen.
    pub request: Option<(String, String)>,
    /// The status of the answer, where it could be seen.
    pub status: Option<u16>,
    /// Whether it was let through.
    pub verdict: Verdict,
    /// The rule that decided.
    pub rule: Option<RuleRef>,
    /// Why it was refused, where one sentence says so.
    pub reason: Option<String>,
    /// Bytes from inside to outside.
    pub sent: u64,
    /// Bytes from outside to inside.
    pub received: u64,
    /// Milliseconds from the first byte to the last.
    pub duration_ms: u64,
}
