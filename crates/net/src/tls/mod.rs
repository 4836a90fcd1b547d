//! TLS: reading what clients say first, and looking into it for the hosts that want that.

mod answered;
mod authority;
mod certificate;
mod cursor;
mod error;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod hello;
mod leaves;
mod opaque;
mod proxy;
mod refusals;
mod roots;
mod terminate;
mod termination;
#[cfg(test)]
mod tests;
mod upstream;
mod watched;
mod words;

pub use error::TlsError;
pub(crate) use hello::{Hello, sniff};
pub(crate) use proxy::connect_proxy;
pub(crate) use terminate::terminate;
pub use termination::Termination;
pub(crate) use upstream::connect_tls;
pub(crate) use words::cause;
