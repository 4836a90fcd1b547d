//! The gateway of one sandbox: its doors, what it admits, what it counts.

mod accept;
mod admit;
mod admitted;
mod allotment;
mod asking;
mod crowds;
mod error;
mod exchange;
mod meter;
mod open;
mod places;
mod publish;
mod registry;
mod reserve;
mod room;
mod standing;
mod statistics;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod ward;

pub(crate) use crate::dial::{DialError, Upstream};
pub(crate) use accept::reset;
pub(crate) use admit::refusal;
pub(crate) use admitted::{Admitted, Denied, Wanted};
pub use error::GatewayError;
pub(crate) use exchange::Exchange;
pub(crate) use meter::Direction;
pub(crate) use open::door_of;
pub use open::{Gateway, GatewayOptions};
pub(crate) use places::Place;
#[cfg(test)]
pub(crate) use places::Places;
pub(crate) use publish::serve_elsewhere;
pub use reserve::Reserved;
pub(crate) use room::Room;
pub use statistics::{HostStatistics, Statistics};
pub(crate) use ward::Ward;
