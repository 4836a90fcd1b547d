//! What a session and its commands are asked to be.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use stockade_policy::{BareWish, Consent};

/// Bytes of output kept of a background command unless the caller says otherwise.
const KEPT: usize = 1024 * 1024;

/// How a session is opened.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Where its shell begins; the runtime's working directory unless given. Outside of what commands may write,
    /// nothing runs without walls there.
    pub cwd: Option<PathBuf>,
    /// Exported variables its shell begins with besides those the policy lets through.
    pub environment: Vec<(OsString, OsString)>,
    /// It is closed after nobody has used it for this long. Background commands count as use.
    pub idle: Option<Duration>,
    /// Bytes of output kept of each background command: what came last.
    pub background_bytes: usize,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { cwd: None, environment: Vec::new(), idle: None, background_bytes: KEPT }
    }
}

/// One command for a session's shell.
#[derive(Clone, Debug)]
pub struct SessionCommand {
    pub(super) text: OsString,
    pub(super) input: SessionInput,
    pub(super) time_limit: Option<Duration>,
    pub(super) output_limit: Option<u64>,
    pub(super) bare: BareWish,
    pub(super) consent: Consent,
    pub(super) routing: Routing,
}

/// Whether the embedder's router has a word in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Routing {
    /// It is asked.
    Ask,
    /// It was asked, and left the command.
    Asked,
}

/// What a command reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionInput {
    /// Nothing: /dev/null.
    #[default]
    Null,
    /// What is written through [`super::SessionRun::stdin`].
    Piped,
}

impl SessionCommand {
    /// Text for the shell, without input.
    pub fn new(text: impl Into<OsString>) -> Self {
        Self {
            text: text.into(),
            input: SessionInput::Null,
            time_limit: None,
            output_limit: None,
            bare: BareWish::Sandboxed,
            consent: Consent::Missing,
            routing: Routing::Ask,
        }
    }

    /// What it reads.
    pub fn input(mut self, input: SessionInput) -> Self {
        self.input = input;
        self
    }

    /// Ends it after this long. The policy's own limit holds besides.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Passes on this many bytes of output, both streams together. The policy's own limit holds besides.
    pub fn output_limit(mut self, limit: u64) -> Self {
        self.output_limit = Some(limit);
        self
    }

    /// Whether it is to run without walls, which the settings must allow. It then runs in a process of its
    /// own, where the shell is, and leaves the shell as it was. Its environment is the runtime's: what
    /// commands export behind walls must not decide what programs outside load.
    pub fn bare(mut self, wish: BareWish) -> Self {
        self.bare = wish;
        self
    }

    /// Whether a person has said yes to it, where a rule wants to be asked.
    pub fn consent(mut self, consent: Consent) -> Self {
        self.consent = consent;
        self
    }

    /// The router was asked already.
    pub(crate) fn asked(mut self) -> Self {
        self.routing = Routing::Asked;
        self
    }
}
