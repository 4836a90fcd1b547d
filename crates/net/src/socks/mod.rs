//! The SOCKS proxy, for programs that insist on one.

mod listen;
mod message;
mod reply;
mod serve;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use serve::serve_socks;
