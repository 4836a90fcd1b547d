//! Project settings that may do more than tighten, because the user has read that very content.

mod digest;
mod error;
mod store;
#[cfg(test)]
mod tests;

pub use digest::ContentDigest;
pub use error::TrustError;
pub(crate) use store::Trusting;
pub use store::{Standing, TrustStore, TrustedFile};
