//! Connections that know nothing of a gateway.

mod carry;
mod first;
mod opaque;
mod serve;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use carry::carry;
pub(crate) use opaque::{may_pass, rule_about_requests};
pub(crate) use serve::{destination, serve};
