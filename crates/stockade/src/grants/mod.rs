//! Permissions given after the start: for one act, for the session, until a moment, or for good.

mod edit;
mod error;
mod grant;
mod kept;
mod replace;
mod store;
#[cfg(test)]
mod tests;

pub use error::GrantError;
pub use grant::{Grant, Scope};
pub use store::{GrantStore, Revoked};

pub(crate) use grant::{Given, is_grantable};
pub(crate) use replace::replace;
