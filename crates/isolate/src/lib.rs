//! Walls. An engine turns a [`Plan`](stockade_policy::Plan) into processes and says what it could not
//! enforce; it never reads settings and never decides.
//!
//! On Linux there is [`NativeProvider`]. Other systems have no engine yet and say so when one is asked for.

mod attendant;
mod command;
mod doors;
mod error;
#[cfg(target_os = "linux")]
mod linux;
mod provider;
mod running;
mod teller;

pub use attendant::{Attendant, TurnedAway};
pub use command::{Afterwards, Command, Stdio, WindowSize};
pub use doors::{DoorSocket, DoorSocketKind};
pub use error::{CreateError, ExecError, StartError};
#[cfg(target_os = "linux")]
pub use linux::{
    NativeProvider, ProbeResult, Stillness, hung_up, inherit, keep_still, probe, unread, watch, watch_reading,
};
pub use provider::{BoxFuture, Company, Health, Making, Provider, Sandbox, Started};
pub use running::{Running, resize};
pub use teller::{Concern, Ear, NetNote, NetProcess, Teller};
