//! Sessions: a shell that stays, and everything commands do to it.

mod basics;
mod hostile;
mod living;
mod support;
mod user;
mod volume;
