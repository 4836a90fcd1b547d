//! A finished run, and what may be said about it.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// Everything a run left: printed in full whenever an assertion fails.
#[derive(Clone)]
pub(crate) struct Ran {
    pub(crate) line: String,
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) took: Duration,
}

impl fmt::Display for Ran {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "\ncommand: {}", self.line)?;
        writeln!(out, "status:  {} after {:?}", self.status, self.took)?;
        writeln!(out, "stdout:  {}", shown(&self.stdout))?;
        writeln!(out, "stderr:  {}", shown(&self.stderr))
    }
}

fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 6000;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]);
    let rest = bytes.len().saturating_sub(MOST);
    if rest == 0 { text.into_owned() } else { format!("{text} ... and {rest} bytes more") }
}

impl Ran {
    /// The status as a shell shows it.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Fails unless the launcher itself exited (was not killed) with this status.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.status.code(), Some(code), "expected exit status {code}{self}");
        self
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Fails unless the message holds all of these.
    #[track_caller]
    pub(crate) fn complains(&self, words: &[&str]) -> &Self {
        let text = self.err();
        for word in words {
            assert!(text.contains(word), "stderr does not say {word:?}{self}");
        }
        self.keeps_calm()
    }

    /// Fails if the program fell over instead of saying what is wrong.
    #[track_caller]
    pub(crate) fn keeps_calm(&self) -> &Self {
        let text = self.err();
        for word in ["panicked at", "RUST_BACKTRACE", "stack backtrace", "unwrap()", "overflowed its stack"] {
            assert!(!text.contains(word), "stderr shows a fall: {word:?}{self}");
        }
        assert!(self.status.signal().is_none(), "killed by a signal{self}");
        self
    }

    /// Refused before anything ran: 125, a message, nothing on standard output.
    #[track_caller]
    pub(crate) fn refused_to_start(&self, words: &[&str]) -> &Self {
        self.exits(125).complains(words);
        assert!(self.stdout.is_empty(), "something ran{self}");
        assert!(!self.stderr.is_empty(), "no message{self}");
        self
    }
}
