//! One command for a live sandbox.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// What to start, and what it is connected to.
#[derive(Debug)]
pub struct Command {
    /// Program and arguments. A program without a slash is looked up in the PATH of the plan, inside.
    pub argv: Vec<OsString>,
    /// Working directory inside.
    pub cwd: PathBuf,
    /// Added to the plan's environment, or replacing values there.
    pub environment: Vec<(OsString, OsString)>,
    /// Descriptors 0, 1 and 2.
    pub stdio: [Stdio; 3],
    /// Further descriptors the caller names: ours, and the number inside.
    pub descriptors: Vec<(OwnedFd, i32)>,
    /// Everything inside is killed after this long, see [`Afterwards`].
    pub time_limit: Option<Duration>,
    /// Bytes of captured output (both streams together) passed on.
    pub output_limit: Option<u64>,
    /// What becomes of the sandbox when this command ends.
    pub afterwards: Afterwards,
}

/// What becomes of a sandbox when a command ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Afterwards {
    /// It stays for the next command, and so do processes the command left behind.
    #[default]
    Stay,
    /// The same, and others live in it: what ends this command before its time, a limit or its caller, ends
    /// its process group and nobody else.
    Beside,
    /// It ends at once with everything inside, without waiting for the launcher to say so.
    End,
}

impl Command {
    /// A command with captured output and no input.
    pub fn new(argv: impl IntoIterator<Item = impl Into<OsString>>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: cwd.into(),
            environment: Vec::new(),
            stdio: [Stdio::Null, Stdio::Piped, Stdio::Piped],
            descriptors: Vec::new(),
            time_limit: None,
            output_limit: None,
            afterwards: Afterwards::Stay,
        }
    }
}

/// What one of descriptors 0, 1, 2 is.
#[derive(Debug)]
pub enum Stdio {
    /// /dev/null of the sandbox.
    Null,
    /// A pipe: bytes arrive as events, or are written through [`crate::Running::stdin`].
    Piped,
    /// A descriptor of the caller's.
    Descriptor(OwnedFd),
    /// The sandbox's private terminal (one for all three).
    Terminal(WindowSize),
}

/// Rows and columns of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}
