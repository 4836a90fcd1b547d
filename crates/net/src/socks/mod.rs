//! The SOCKS proxy, for programs that insist on one.

#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod listen;
mod message;
mod reply;
mod serve;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use serve::serve_socks;
