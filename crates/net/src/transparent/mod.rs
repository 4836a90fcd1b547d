//! Connections that know nothing of a gateway.

mod answered;
mod carry;
mod first;
mod opaque;
mod serve;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use answered::answered_as_http;
pub(crate) use carry::carry;
pub(crate) use opaque::{may_pass, rule_about_requests};
pub(crate) use serve::{destination, serve};
#[cfg(test)]
pub(crate) use tests::hello;
