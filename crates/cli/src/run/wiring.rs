//! What the command's descriptors are connected to.

use super::shown::Shown;
use super::terminal::window_size;
use crate::ask::Stage;
use rustix::termios::isatty;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use stockade::{Outlet, Prepared, Stdio, Verdict, Wiring};

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

/// How a private terminal is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TerminalUse {
    /// Not at all.
    None,
    /// What the command prints is shown.
    Show,
    /// What is typed reaches the command, too.
    Converse,
}

/// The wiring, and what is to be done beside the command because of it.
pub(super) struct Wired {
    pub(super) wiring: Wiring,
    pub(super) terminal: TerminalUse,
    pub(super) shown: Shown,
}

/// Chooses the wiring.
///
/// The caller's own terminal is never handed in: whoever holds it can read what is typed and change its
/// modes for good. Descriptors that are terminals become the private one. Input from a terminal is only
/// passed on when the output goes there, too: in `stockade run -- ls | less` the keys are meant for `less`.
/// Where questions are asked on the terminal, nothing reaches it but through the stage.
pub(super) fn choose(
    tty: TtyWish,
    inherit: Vec<(OwnedFd, i32)>,
    prepared: &Prepared,
    stage: Option<&Stage>,
) -> Result<Wired, WireError> {
    let mut wiring = Wiring::descriptors(
        own(0, std::io::stdin().as_fd())?,
        own(1, std::io::stdout().as_fd())?,
        own(2, std::io::stderr().as_fd())?,
    );
    if prepared.decision.verdict == Verdict::Unsandboxed {
        // A plain process inherits what we inherited, terminal and named descriptors included.
        return match tty {
            TtyWish::AsCaller => Ok(Wired { wiring, terminal: TerminalUse::None, shown: Shown::default() }),
            TtyWish::Always => Err(WireError::TerminalWithoutWalls),
        };
    }
    wiring.descriptors = inherit;
    let limited = prepared.plan.limits.max_output.is_some();
    let terminals = [isatty(std::io::stdin()), isatty(std::io::stdout()), isatty(std::io::stderr())];
    let used = match (tty, terminals) {
        (TtyWish::Always, _) if limited => return Err(WireError::TerminalWithLimit),
        (TtyWish::Always, _) | (TtyWish::AsCaller, [true, true, _]) => TerminalUse::Converse,
        (TtyWish::AsCaller, [_, false, false]) => TerminalUse::None,
        (TtyWish::AsCaller, _) => TerminalUse::Show,
    };
    let private = match (tty, limited) {
        (TtyWish::Always, _) => [true; 3],
        // Counting bytes needs pipes.
        (TtyWish::AsCaller, true) => [false; 3],
        (TtyWish::AsCaller, false) => [used == TerminalUse::Converse, terminals[1], terminals[2]],
    };
    let mut outlets = [None, None];
    for (at, stdio) in wiring.stdio.iter_mut().enumerate() {
        if private[at] {
            *stdio = Stdio::Terminal(window_size());
        } else if at > 0 && terminals[at] && stage.is_some() {
            if let Stdio::Descriptor(descriptor) = std::mem::replace(stdio, Stdio::Piped) {
                let outlet = Outlet::new(descriptor);
                outlets[at - 1] =
                    Some(outlet.map_err(|source| WireError::Inherit {
                        number: if at == 1 { 1 } else { 2 },
                        source,
                    })?);
            }
        } else if at == 0 && terminals[0] {
            *stdio = Stdio::Null;
        }
    }
    let terminal = if private.contains(&true) { used } else { TerminalUse::None };
    let shown = Shown::new(outlets, stage.cloned().unwrap_or_default());
    Ok(Wired { wiring, terminal, shown })
}

fn own(number: i32, descriptor: std::os::fd::BorrowedFd<'_>) -> Result<OwnedFd, WireError> {
    descriptor.try_clone_to_owned().map_err(|source| WireError::Inherit { number, source })
}
