//! Secrets that a command only gets stand-ins of.
//!
//! Before a sandbox is built, the real values are read where they are, and what the command will see instead
//! is made up. The real ones go into the gateway's vault and nowhere else.

mod claims;
mod error;
mod extract;
mod jwt;
mod mask;
mod pairs;
mod prepare;
mod read;

#[cfg(test)]
mod tests;

pub use error::CredentialError;
pub(crate) use prepare::{Masked, prepare};
