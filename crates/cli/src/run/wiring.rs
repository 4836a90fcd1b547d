//! What the command's descriptors are connected to.

use super::terminal::window_size;
use rustix::termios::isatty;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use stockade::{Prepared, Stdio, Verdict, Wiring};

/// Whether the command gets a terminal of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TtyWish {
    /// When the caller's input and output are one.
    AsCaller,
    /// In any case.
    Always,
}

/// A descriptor cannot be given to the command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("descriptor {number} cannot be inherited: {source}; nothing was run")]
    Inherit { number: i32, source: io::Error },
    #[error(
        "--tty cannot be had together with an output limit; nothing was run\nhint: leave out --tty, or maxOutput in the settings"
    )]
    TerminalWithLimit,
    #[error("--tty cannot be had without walls; nothing was run")]
    TerminalWithoutWalls,
}

/// The wiring, and whether a private terminal is part of it.
pub(super) fn choose(
    tty: TtyWish,
    inherit: Vec<(OwnedFd, i32)>,
    prepared: &Prepared,
) -> Result<(Wiring, bool), WireError> {
    let mut wiring = Wiring::descriptors(
        own(0, std::io::stdin().as_fd())?,
        own(1, std::io::stdout().as_fd())?,
        own(2, std::io::stderr().as_fd())?,
    );
    if prepared.decision.verdict == Verdict::Unsandboxed {
        // A plain process inherits what we inherited, terminal and named descriptors included.
        return match tty {
            TtyWish::AsCaller => Ok((wiring, false)),
            TtyWish::Always => Err(WireError::TerminalWithoutWalls),
        };
    }
    wiring.descriptors = inherit;
    let limited = prepared.plan.limits.max_output.is_some();
    let interactive = isatty(std::io::stdin()) && isatty(std::io::stdout());
    let wanted = match (tty, limited) {
        (TtyWish::Always, true) => return Err(WireError::TerminalWithLimit),
        (TtyWish::Always, false) => true,
        (TtyWish::AsCaller, limited) => interactive && !limited,
    };
    if wanted {
        let size = window_size();
        let errors_too = tty == TtyWish::Always || isatty(std::io::stderr());
        for stdio in &mut wiring.stdio[..if errors_too { 3 } else { 2 }] {
            *stdio = Stdio::Terminal(size);
        }
    }
    Ok((wiring, wanted))
}

fn own(number: i32, descriptor: std::os::fd::BorrowedFd<'_>) -> Result<OwnedFd, WireError> {
    descriptor.try_clone_to_owned().map_err(|source| WireError::Inherit { number, source })
}
