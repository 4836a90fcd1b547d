//! Asking somebody while a command waits.

mod asker;
mod desk;
mod question;
mod rate;
#[cfg(test)]
mod tests;
mod visible;
mod waiting;

pub use asker::{AskNotice, Asker};
pub use question::Question;
pub use visible::visible;

pub(crate) use asker::SharedAsker;
pub(crate) use desk::{ASK_TIMEOUT, Desk};
pub(crate) use waiting::Waiting;
