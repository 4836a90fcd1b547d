//! Carrying bytes both ways.

mod buffers;
mod duplex;
mod pipes;
mod pump;
mod streams;

pub(crate) use buffers::Buffers;
pub(crate) use duplex::Duplex;
pub(crate) use pipes::Pipes;
pub(crate) use pump::{pass_on, relay, relay_after, write};
pub(crate) use streams::relay_streams;
