//! The network of a run: what has to be ready before it starts, and the gateway that goes on beside it.

mod equip;
mod error;
mod handle;
mod witness;

pub(crate) use equip::equip;
pub use error::NetworkError;
pub use handle::NetworkHandle;
pub(crate) use handle::{Opened, open};
