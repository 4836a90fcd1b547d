//! Secrets that the sandbox only knows stand-ins of.
//!
//! A program inside sends its stand-in as if it were the secret. On the way to the hosts the secret is meant
//! for, and nowhere else, the [`Vault`] puts the real value in its place. Requests signed with an AWS pair
//! of keys carry no secret that could be replaced: their signature is made anew. What comes back is covered again.

mod aws;
mod escapes;
mod frames;
mod inject;
mod names;
mod needles;
mod place;
mod replace;
mod scrub;
mod secret;
mod sigv4;
mod spellings;
mod stand_in;
mod starts;
mod stray;
mod trail;
mod vault;
mod watch;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use aws::Signing;
pub(crate) use frames::FrameScrubber;
pub(crate) use inject::{Channel, RequestBody};
pub(crate) use replace::Replacer;
pub(crate) use scrub::Scrubber;
pub use secret::Secret;
pub use stand_in::{StandIn, StandInError};
pub(crate) use stray::Stray;
pub use vault::{AwsPair, Vault, VaultEntry};
