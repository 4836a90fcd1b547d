//! Changes to a workspace that are held back until somebody has looked at them.
//!
//! A run with an overlay sees the workspace and may change it as always, but its changes go to a layer of their own
//! in Stockade's state directory. What is different then is a list of [`Change`]s; it can be shown, applied to
//! the workspace in whole or in part, or thrown away.

mod apply;
mod change;
mod compare;
mod conflict;
mod copy;
mod diff;
mod error;
mod guard;
mod layer;
mod lines;
mod record;
mod remove;
mod repository;
mod store;
mod sweep;
mod tree;

pub use apply::{Applied, Apply, LeftOut, OnConflict};
pub use change::{Change, ChangeKind, Entry, EntryKind, Selection, quoted};
pub use conflict::Conflict;
pub use diff::{Counted, Lines, Unshown};
pub use error::OverlayError;
pub use layer::Overlay;
pub use store::OverlayStore;
