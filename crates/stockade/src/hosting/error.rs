//! Why a hosted session could not be made, reached or used.

use std::io;
use std::path::PathBuf;

/// A hosted session could not be made, reached or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Not a name.
    #[error(
        "{name:?} is not a session's name\nhint: letters, digits, - and _, beginning with a letter, at most 32"
    )]
    Name {
        /// What was given.
        name: String,
    },
    /// The directory of the sockets is not fit for them.
    #[error("cannot use {} for sessions: {source}\nhint: it should be a directory of your own with mode 0700", path.display())]
    Place {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// Another session has the name.
    #[error("there is a session {name} already\nhint: `stockade sessions` lists them")]
    Taken {
        /// The name.
        name: String,
    },
    /// No session of the name lives.
    #[error("there is no session {name}\nhint: `stockade sessions` lists those that live")]
    Unknown {
        /// The name.
        name: String,
    },
    /// The host of the session cannot be talked to.
    #[error("cannot talk to the session {name}: {source}")]
    Talk {
        /// The session.
        name: String,
        /// What went wrong.
        source: io::Error,
    },
    /// The host of the session said nothing for too long.
    #[error("the session {name} does not answer{}", host_of(name, *pid))]
    Silent {
        /// The session.
        name: String,
        /// Its host, where that could be learnt.
        pid: Option<u32>,
    },
    /// The host of the session said nothing for too long, was killed, and is still there.
    #[error(
        "the session {name} does not answer, and its host, process {pid}, was killed and still does not end\nhint: the system may be waiting for a device; `kill -9 {pid}` tries again, and everything inside ends with it"
    )]
    Stuck {
        /// The session.
        name: String,
        /// Its host.
        pid: u32,
    },
    /// Another version of Stockade hosts the session.
    #[error(
        "the session {name} is hosted by Stockade {version}, which speaks otherwise\nhint: use that version, or `stockade sessions kill {name}`"
    )]
    Version {
        /// The session.
        name: String,
        /// The version.
        version: String,
    },
    /// The host of the session did not like what it was told.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// The host of the session went away.
    #[error("the session {name} ended")]
    Ended {
        /// The session.
        name: String,
    },
}

/// Who does not answer, and what helps.
fn host_of(name: &str, pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!(
            "; its host is process {pid}\nhint: `stockade sessions kill {name}` or `kill -9 {pid}` ends it, and everything inside with it"
        ),
        None => format!(
            "; too many wait for its host\nhint: kill -9 the process `stockade __host` with {name} behind it: everything inside ends with it"
        ),
    }
}
