//! Between the caller's terminal and the command's private one.

use super::raw::Raw;
use super::wiring::TerminalUse;
use crate::ask::Stage;
use crate::stderr::Haste;
use rustix::termios::isatty;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use stockade::{Inlet, Outlet, WindowSize, resize};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

const STEP: usize = 16 << 10;
const END_OF_FILE: u8 = 4;

/// What the terminal has still to say once everything inside is gone is already in the kernel.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A private terminal in use.
pub(super) struct Terminal {
    outer: OwnedFd,
    raw: Option<Raw>,
    stage: Stage,
    resized: Signal,
    continued: Signal,
    input: Option<JoinHandle<()>>,
    output: JoinHandle<Silence>,
    /// `output` has been seen to end.
    hung_up: bool,
}

/// Why nothing more is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silence {
    /// Every process has closed the private terminal, most likely by ending.
    Closed,
    /// Nobody takes what is shown.
    Unheard,
}

/// What a terminal tells its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Nothing the run has to know.
    Adjusted,
    /// Nobody reads our output any more.
    HungUp,
}

impl Terminal {
    /// Begins to relay.
    pub(super) fn begin(outer: OwnedFd, used: TerminalUse, stage: Stage) -> io::Result<Self> {
        let from_command = Inlet::new(outer.try_clone()?)?;
        let shown_on = match (used, isatty(io::stdout())) {
            (TerminalUse::Show, false) => io::stderr().as_fd().try_clone_to_owned()?,
            _ => io::stdout().as_fd().try_clone_to_owned()?,
        };
        let to_caller = Outlet::new(shown_on)?;
        let converses = used == TerminalUse::Converse;
        let input = if converses {
            let to_command = Outlet::unshared(outer.try_clone()?)?;
            let from_caller = Inlet::new(io::stdin().as_fd().try_clone_to_owned()?)?;
            Some(tokio::spawn(type_in(from_caller, to_command, stage.clone())))
        } else {
            None
        };
        let resized = signal(SignalKind::window_change())?;
        let continued = signal(SignalKind::from_raw(libc::SIGCONT))?;
        let terminal = Self {
            outer,
            raw: if converses { Raw::enter() } else { None },
            resized,
            continued,
            input,
            output: tokio::spawn(show(from_command, to_caller, stage.clone())),
            stage,
            hung_up: false,
        };
        // The window may have changed since its size was asked for.
        terminal.fit();
        Ok(terminal)
    }

    /// Follows the caller's window. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Said {
        tokio::select! {
            Some(()) = self.resized.recv() => {
                self.fit();
                Said::Adjusted
            }
            Some(()) = self.continued.recv() => {
                // A question has its own modes, and puts ours back itself.
                if let Some(raw) = &self.raw
                    && !self.stage.is_asking()
                {
                    raw.again();
                }
                self.fit();
                Said::Adjusted
            }
            silence = &mut self.output, if !self.hung_up => {
                self.hung_up = true;
                if matches!(silence, Ok(Silence::Closed)) { Said::Adjusted } else { Said::HungUp }
            }
            else => std::future::pending().await,
        }
    }

    /// Shows the last words and gives the caller's terminal back. In haste a reader who does not read is not waited
    /// for.
    pub(super) async fn end(mut self, haste: Haste) {
        if let Some(input) = &self.input {
            input.abort();
        }
        match (self.hung_up, haste) {
            (true, _) => {}
            (false, Haste::None) => drop((&mut self.output).await),
            (false, Haste::Great) => drop(tokio::time::timeout(LAST_WORDS, &mut self.output).await),
        }
    }

    fn fit(&self) {
        // A window without a size is not worth a failure.
        let _ = resize(&self.outer, window_size());
    }
}

/// The size of the caller's window, or a usual one.
pub(crate) fn window_size() -> WindowSize {
    let asked = rustix::termios::tcgetwinsize(io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(io::stdin()))
        .or_else(|_| rustix::termios::tcgetwinsize(io::stderr()));
    match asked {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
            WindowSize { rows: size.ws_row, columns: size.ws_col }
        }
        _ => WindowSize { rows: 24, columns: 80 },
    }
}

/// Caller to command. A terminal has no end of file, only the character for it. What is typed while a
/// question stands is not for the command.
async fn type_in(mut from: Inlet, mut to: Outlet, stage: Stage) {
    let mut buffer = vec![0; STEP];
    let mut fresh_line = true;
    loop {
        stage.quiet().await;
        let read = tokio::select! {
            biased;
            () = stage.asking() => continue,
            read = from.read(&mut buffer) => read,
        };
        let Ok(count @ 1..) = read else { break };
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
        fresh_line = buffer[count - 1] == b'\n';
    }
    // In the middle of a line the first one only ends the line's part so far.
    let ends: &[u8] = if fresh_line { &[END_OF_FILE] } else { &[END_OF_FILE, END_OF_FILE] };
    let _ = to.write_all(ends).await;
}

/// Command to caller.
async fn show(mut from: Inlet, mut to: Outlet, stage: Stage) -> Silence {
    let mut buffer = vec![0; STEP];
    // The kernel answers EIO once the last process has closed the inner end.
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let _turn = stage.output().await;
        if to.write_all(&buffer[..count]).await.is_err() {
            return Silence::Unheard;
        }
    }
    Silence::Closed
}
