//! What can go wrong while walls are built or a command is started.

use std::io;
use std::path::PathBuf;
use stockade_policy::WallLayer;

/// Building a sandbox failed; nothing was left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The machine does not have a wall the plan requires.
    #[error("the {layer} layer is needed{because} but missing: {reason}\nhint: {hint}")]
    MissingLayer {
        /// Which wall.
        layer: WallLayer,
        /// ` by RULE`, or nothing.
        because: String,
        /// What the kernel said.
        reason: String,
        /// What would mend it.
        hint: String,
    },
    /// A path is not what it was when the policy looked at it.
    #[error("{} changed while the sandbox was being set up; nothing was run\nhint: another process replaces it; run again when it is quiet", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// A path that is protected or hidden is another one, or none, in the overlay.
    #[error("{} is protected, but in the overlay it is not what the host has there; nothing was run\nhint: apply or discard the overlay, then run again", path.display())]
    Overlaid {
        /// The path.
        path: PathBuf,
    },
    /// Another sandbox works in the overlay.
    #[error("the overlay in {} cannot be used: {source}\nhint: another run may still use it; a layer of changes serves one sandbox at a time", directory.display())]
    OverlayInUse {
        /// Where its changes are kept.
        directory: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// One step of the set-up failed.
    #[error("could not {act}{}: {source}\nhint: {hint}", at(path))]
    Step {
        /// What was being done: `mask`, `bind`, `mount /proc`.
        act: &'static str,
        /// On which path, where there is one.
        path: Option<PathBuf>,
        /// What the kernel said.
        source: io::Error,
        /// What would mend it.
        hint: &'static str,
    },
    /// The plan holds something this engine cannot build.
    #[error("the plan cannot be built: {reason}")]
    Plan {
        /// What and why.
        reason: String,
    },
    /// The sandbox's first process ended during the set-up.
    #[error(
        "the sandbox's first process ended during the set-up\nhint: the machine may be out of memory or processes"
    )]
    Died,
}

/// Starting a command in a live sandbox failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// The sandbox is no longer alive.
    #[error("the sandbox is gone\nhint: create another one")]
    Gone,
    /// The program could not be executed.
    #[error("{}: {source}", program.display())]
    Program {
        /// As it was asked for.
        program: PathBuf,
        /// Not found, not executable, ...
        source: io::Error,
    },
    /// The working directory cannot be entered inside.
    #[error("cannot enter the working directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A descriptor must not cross the wall.
    #[error("descriptor {number} {reason}\nhint: {hint}")]
    Descriptor {
        /// Its number inside.
        number: i32,
        /// Why not.
        reason: &'static str,
        /// What would mend it.
        hint: &'static str,
    },
    /// An argument, variable or path that no process can be given.
    #[error("{what} holds a NUL byte")]
    Nul {
        /// Which one.
        what: String,
    },
    /// One step of the start failed.
    #[error("could not {act}: {source}")]
    Step {
        /// What was being done.
        act: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Building a sandbox and starting its first command failed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The sandbox could not be built.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The command could not be started in it.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// Whoever wanted to start it did not make a command.
    #[error("the command was withdrawn before it started")]
    Withdrawn,
}

fn at(path: &Option<PathBuf>) -> String {
    path.as_ref().map(|path| format!(" {}", path.display())).unwrap_or_default()
}
