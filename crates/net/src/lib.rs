//! The egress gateway: every connection a sandbox makes is judged by the *name* it wants.
//!
//! The sandbox's first process makes the listening sockets inside its network namespace; the kernel leads
//! every connect there. A stub resolver hands out addresses from a private pool, so that the gateway knows
//! the name behind every connection, whatever protocol it speaks and without any proxy variable.

mod credentials;
mod dial;
mod dns;
mod doors;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod gateway;
mod http;
mod peer;
mod relay;
mod replay;
mod socks;
mod sys;
mod through;
mod tls;
mod transparent;
mod witness;

pub use credentials::{AwsPair, Secret, StandIn, StandInError, Vault, VaultEntry};
pub use doors::{Door, DoorKind, Inward};
pub use gateway::{Gateway, GatewayError, GatewayOptions, HostStatistics, Reserved, Statistics};
pub(crate) use stockade_policy::{ConnectionVerdict as Verdict, Via};
pub use tls::{Termination, TlsError};
pub use witness::{BoxFuture, NetRecord, Witness};
