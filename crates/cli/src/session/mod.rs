//! Sessions that outlive the terminal: `stockade shell`, `stockade exec`, `stockade sessions`.

pub(crate) mod exec;
pub(crate) mod host;
pub(crate) mod list;
mod made;
mod relay;
pub(crate) mod shell;
mod typed;

use std::io;
use stockade::{Directories, HostError, SessionPlace};

/// Why there is no session, or nothing was run in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionRefusal {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(
        "no command was given\nhint: stockade exec SESSION -- COMMAND ARGUMENTS..., or stockade exec SESSION -c 'SHELL TEXT'"
    )]
    NoCommand,
    #[error("cannot start the session's host: {0}")]
    Spawn(io::Error),
    #[error("{0}")]
    Made(String),
    #[error("the session's host ended before it was ready\nhint: {} may say why", .0.display())]
    Unmade(std::path::PathBuf),
    #[error(
        "the session {0} is there already, and its policy cannot be changed\nhint: leave out all options but --name and --take, or give it another name"
    )]
    Fixed(String),
    #[error("cannot use descriptor {number}: {source}; nothing was run")]
    Descriptor { number: i32, source: io::Error },
    #[error("cannot watch for signals and input: {0}")]
    Reactor(#[from] io::Error),
}

/// Where the user's sessions are.
fn place() -> SessionPlace {
    let environment: Vec<_> = std::env::vars_os().collect();
    let home = stockade::home(&environment);
    SessionPlace::new(&Directories::new(&environment, home.as_deref()))
}

/// Runs something that waits.
fn wait<T>(act: impl Future<Output = Result<T, SessionRefusal>>) -> Result<T, SessionRefusal> {
    let reactor = crate::reactor::build()?;
    let result = reactor.block_on(act);
    // A reader that never reads must not keep us here.
    reactor.shutdown_background();
    result
}
