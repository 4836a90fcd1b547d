//! Why a session has no answer.

use crate::{PrepareError, StartError};
use std::io;
use std::path::PathBuf;
use stockade_isolate::ExecError;

/// A session could not be opened, or a command not be given to it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The policy said no.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The sandbox or its network could not be made ready.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A program could not be started in the sandbox.
    #[error(transparent)]
    Exec(ExecError),
    /// The sandbox ended while a command was started in it.
    #[error(
        "the session's sandbox ended while the command was started\nhint: the session goes on, and the next command builds another one"
    )]
    Gone,
    /// There is no place for the pipes that lead to the shell.
    #[error(
        "cannot make the session's private directory {path}: {source}\nhint: XDG_RUNTIME_DIR or XDG_STATE_HOME can name another place"
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The pipes of a command could not be made.
    #[error("cannot {act} for the session's shell: {source}")]
    Pipes {
        /// What was being done.
        act: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The shell does not speak, however often it is started.
    #[error(
        "the session's shell {shell} does not answer\nhint: it must be allowed to run inside; `stockade run -- {shell} -c true` shows whether it does"
    )]
    Mute {
        /// Its path.
        shell: PathBuf,
    },
    /// The text cannot be given to a shell.
    #[error("a command must not hold a NUL byte")]
    Nul,
    /// It was closed, or nobody used it for as long as it was allowed to be idle.
    #[error("the session is closed\nhint: open another one")]
    Closed,
    /// There is no command of that number.
    #[error("the session has no background command {id}")]
    Unknown {
        /// The number.
        id: u64,
    },
    /// It ended, and so many others did since that nothing of it is kept.
    #[error(
        "background command {id} is over and not remembered any more\nhint: a session remembers those that ended last; ask for output sooner"
    )]
    Forgotten {
        /// The number.
        id: u64,
    },
    /// The command started, and everything around it went away without telling the end.
    #[error("the session ended before the command did\nhint: the machine may be out of memory")]
    Lost,
}

impl From<ExecError> for SessionError {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::Gone => Self::Gone,
            error => Self::Exec(error),
        }
    }
}

pub(super) fn pipes(act: &'static str) -> impl Fn(rustix::io::Errno) -> SessionError {
    move |errno| SessionError::Pipes { act, source: errno.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_outlives_its_sandbox() {
        let text = SessionError::from(ExecError::Gone).to_string();
        assert!(text.contains("the next command builds another one"), "{text}");
        assert!(!text.contains("create"), "{text}");
    }
}
