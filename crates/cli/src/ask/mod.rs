//! `--ask`: who answers while a command waits.

mod descriptor;
mod lines;
mod modes;
mod stage;
mod text;
mod tty;
mod wire;

pub(crate) use descriptor::DescriptorAsker;
pub(crate) use modes::Modes;
pub(crate) use stage::Stage;
pub(crate) use tty::{TtyAsker, open_terminal};
