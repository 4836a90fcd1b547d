//! Connections that know nothing of a gateway.

mod carry;
mod first;
mod opaque;
mod serve;

pub(crate) use carry::carry;
pub(crate) use opaque::may_pass;
pub(crate) use serve::serve;
