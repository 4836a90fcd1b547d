//! Settings files: their shapes, and what can be wrong with them.

pub(crate) mod check;
pub(crate) mod claude;
pub(crate) mod commands;
pub(crate) mod credential_check;
pub(crate) mod credentials;
mod detect;
pub(crate) mod domain_entry;
mod error;
mod jsonc;
pub(crate) mod native;
pub(crate) mod network;
mod object;
mod path_entry;
pub(crate) mod permission;
pub(crate) mod read;
pub(crate) mod simple;
pub(crate) mod srt;
mod suggest;
mod wanted;

pub use error::{SettingsError, SettingsErrors};
pub(crate) use jsonc::blank;
pub use network::{MitmProxy, ParentProxy, Protocol, TlsTerminate};
pub(crate) use path_entry::PathEntry;
pub(crate) use suggest::nearest;
