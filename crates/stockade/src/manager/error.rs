//! Why a manager has no answer.

use super::input::InputError;
use crate::{BuildError, GrantError, SessionError};
use std::io;
use std::path::PathBuf;

/// A manager could not do what it was asked. Nothing ran without walls instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The tool call cannot be followed; the agent should be told.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The settings, or the provider they name, cannot be used.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The sandbox could not be made, or does not work any more.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A permission could not be given, kept or taken back.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// What should be opened is not there.
    #[error("cannot open {}: {source}", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The permission was taken back: it would have changed nothing.
    #[error("{subject} stays closed: {reason}")]
    StaysClosed {
        /// What was to be opened.
        subject: String,
        /// What stands against it.
        reason: String,
    },
    /// There is no such request, or it was answered.
    #[error(
        "there is no open permission request {id}\nhint: each can be answered once, and only the last {} are kept",
        super::pending::MOST
    )]
    UnknownRequest {
        /// Its name.
        id: String,
    },
    /// The answer is none of the request's options.
    #[error("this permission request cannot be answered so\nhint: its options are {options}")]
    NotOffered {
        /// Those there are.
        options: String,
    },
    /// There is no such command in the background.
    #[error("there is no background command {id}")]
    UnknownCommand {
        /// Its name.
        id: String,
    },
    /// It was shut down.
    #[error("the manager was shut down")]
    ShutDown,
}
