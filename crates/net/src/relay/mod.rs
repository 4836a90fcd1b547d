//! Carrying bytes both ways.

mod bridge;
mod buffers;
mod duplex;
mod pump;
mod socket;
mod streams;

pub(crate) use bridge::bridge;
pub(crate) use buffers::Buffers;
pub(crate) use duplex::{BreakOff, Duplex};
pub(crate) use pump::{pass_on, relay, relay_after, relay_answered, write};
pub(crate) use socket::Socket;
pub(crate) use streams::relay_streams;
