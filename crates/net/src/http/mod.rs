//! HTTP: the proxy inside, requests on admitted streams, requests out of terminated TLS, tunnels through
//! other proxies.
//!
//! Every byte from inside passes a strict reader first, whatever road it takes: a request that two readers
//! could take in two ways is refused.

mod agree;
mod answer;
mod answers;
mod backlog;
mod body;
mod connect;
mod covered;
mod farewell;
mod flow;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod guard;
mod head;
mod hidden;
mod inject;
mod likeness;
mod lines;
mod pace;
mod plain;
mod protocols;
mod proxy;
mod raw;
mod requests;
mod resets;
mod road;
mod second;
mod seen;
mod server;
mod size;
mod terminated;
#[cfg(test)]
mod tests;
mod translate;
mod tunnel;
mod two;
mod unheard;
mod wishes;

pub(crate) use hidden::{Hidden, HiddenRequest, StatusLine, greets_like_http};
pub(crate) use likeness::{Likeness, looks_like_http};
pub(crate) use plain::serve_plain;
pub(crate) use proxy::serve_proxy;
pub(crate) use terminated::serve_terminated;
pub(crate) use tunnel::{ParentProxyAddress, Reached, tunnel_over};
