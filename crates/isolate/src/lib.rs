//! Walls. An engine turns a [`Plan`](stockade_policy::Plan) into processes and says what it could not
//! enforce; it never reads settings and never decides.

mod command;
mod error;
mod provider;
mod running;

pub use command::{Command, Stdio, WindowSize};
pub use error::{CreateError, ExecError};
pub use provider::{BoxFuture, Health, Provider, Sandbox};
pub use running::{Running, resize};
