//! Between the caller's terminal and one of a session.

use super::typed::Keys;
use crate::run::{Raw, window_size};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use stockade::{Inlet, Outlet, resize};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const STEP: usize = 16 << 10;
const END_OF_FILE: u8 = 4;

/// What the terminal has still to say once its processes are gone is already in the kernel.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long a shell may take to show its first word, and to fall silent. Not all of them do.
const FIRST_WORD: Duration = Duration::from_secs(5);

/// A shell that has said nothing for this long waits for input.
const QUIET: Duration = Duration::from_millis(100);

/// How often the end of the input is said. Whoever changes how the terminal reads, or runs a program that has
/// an end of file for itself, loses it.
const AGAIN: Duration = Duration::from_millis(500);

/// What is done with what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typing {
    /// It is left to somebody else.
    Ignored,
    /// It reaches the command.
    Passed,
    /// It reaches the shell, but for the keys that leave.
    Watched,
}

/// A relay at work. The caller's terminal is as it was once this is dropped.
pub(super) struct Relay {
    outer: OwnedFd,
    raw: Option<Raw>,
    resized: Signal,
    continued: Signal,
    input: Option<JoinHandle<Stop>>,
    output: JoinHandle<Stop>,
    shown: bool,
}

/// Why one direction stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The person typed the keys that leave.
    Left,
    /// There is no more input.
    Ended,
    /// Every process has closed the session's terminal.
    Closed,
    /// Nobody takes what is shown, or nobody is at the terminal any more.
    HungUp,
}

impl Relay {
    /// Begins, with what is to be shown first.
    pub(super) fn begin(outer: OwnedFd, typing: Typing, first: Vec<u8>) -> io::Result<Self> {
        let from = Inlet::new(outer.try_clone()?)?;
        let shown_on = match rustix::termios::isatty(io::stdout()) || typing != Typing::Ignored {
            true => io::stdout().as_fd().try_clone_to_owned()?,
            false => io::stderr().as_fd().try_clone_to_owned()?,
        };
        let (speaks, spoken) = watch::channel(());
        let output = tokio::spawn(show(from, Outlet::new(shown_on)?, first, speaks));
        let input = if typing == Typing::Ignored {
            None
        } else {
            let to = Outlet::unshared(outer.try_clone()?)?;
            let from = Inlet::new(io::stdin().as_fd().try_clone_to_owned()?)?;
            let keys = (typing == Typing::Watched).then(Keys::default);
            Some(tokio::spawn(type_in(from, to, keys, spoken)))
        };
        let relay = Self {
            outer,
            raw: if typing == Typing::Ignored { None } else { Raw::enter() },
            resized: signal(SignalKind::window_change())?,
            continued: signal(SignalKind::from_raw(libc::SIGCONT))?,
            input,
            output,
            shown: false,
        };
        relay.fit();
        Ok(relay)
    }

    /// Follows the caller's window until the person leaves or hangs up. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Stop {
        loop {
            let stop = tokio::select! {
                Some(()) = self.resized.recv() => {
                    self.fit();
                    continue;
                }
                Some(()) = self.continued.recv() => {
                    if let Some(raw) = &self.raw {
                        raw.again();
                    }
                    self.fit();
                    continue;
                }
                stop = stop_of(&mut self.input) => {
                    self.input = None;
                    stop
                }
                stop = &mut self.output, if !self.shown => {
                    self.shown = true;
                    stop.unwrap_or(Stop::Closed)
                }
                else => std::future::pending().await,
            };
            if matches!(stop, Stop::Left | Stop::HungUp) {
                return stop;
            }
        }
    }

    /// Shows the last words and gives the caller's terminal back.
    pub(super) async fn end(mut self) {
        if !self.shown {
            let _ = timeout(LAST_WORDS, &mut self.output).await;
        }
    }

    fn fit(&self) {
        // A window without a size is not worth a failure.
        let _ = resize(&self.outer, window_size());
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.input.iter().for_each(JoinHandle::abort);
        self.output.abort();
    }
}

async fn stop_of(input: &mut Option<JoinHandle<Stop>>) -> Stop {
    match input {
        Some(input) => input.await.unwrap_or(Stop::Ended),
        None => std::future::pending().await,
    }
}

/// Caller to session. A terminal has no end of file, only the character for it.
async fn type_in(
    mut from: Inlet,
    mut to: Outlet,
    mut keys: Option<Keys>,
    mut spoken: watch::Receiver<()>,
) -> Stop {
    // Asked before the first byte: a terminal that has hung up no longer says that it is one.
    let typed_by_hand = rustix::termios::isatty(io::stdin());
    if !typed_by_hand {
        // A shell that still sets its terminal up may throw away what lies there. One that says nothing, or
        // that has ended, is typed to all the same.
        let _ = timeout(FIRST_WORD, spoken.changed()).await;
        settle(&mut spoken).await;
    }
    let mut buffer = vec![0; STEP];
    let mut fresh_line = true;
    loop {
        let count = match from.read(&mut buffer).await {
            Ok(0) => break,
            Ok(count) => count,
            // The terminal is gone; a shell that hangs on to nothing is left to itself.
            Err(_) => return Stop::HungUp,
        };
        let (through, leaves) = match &mut keys {
            Some(keys) => {
                let typed = keys.take(&buffer[..count]);
                (typed.through, typed.leaves)
            }
            None => (buffer[..count].to_vec(), false),
        };
        if to.write_all(&through).await.is_err() {
            return Stop::Ended;
        }
        if leaves {
            return Stop::Left;
        }
        fresh_line = through.last().map_or(fresh_line, |last| *last == b'\n');
    }
    if typed_by_hand {
        return Stop::HungUp;
    }
    // The character ends something only where lines are read; a shell that edits its lines would hand it on
    // to the program it is about to start as a letter of its input.
    settle(&mut spoken).await;
    end_input(to, fresh_line).await
}

/// Waits until the terminal is quiet, or has not been for too long.
async fn settle(spoken: &mut watch::Receiver<()>) {
    let quiet = async { while let Ok(Ok(())) = timeout(QUIET, spoken.changed()).await {} };
    let _ = timeout(FIRST_WORD, quiet).await;
}

/// Says that there is no more input until nobody is there to hear it.
async fn end_input(mut to: Outlet, fresh_line: bool) -> Stop {
    let mut ends: &[u8] = &[END_OF_FILE];
    if !fresh_line {
        // In the middle of a line the first one only ends the line's part so far, and a shell that edits its
        // lines hears none of them before the line has an end.
        if to.write_all(&[END_OF_FILE, END_OF_FILE]).await.is_err() {
            return Stop::Ended;
        }
        sleep(AGAIN).await;
        ends = &[b'\n', END_OF_FILE];
    }
    while to.write_all(ends).await.is_ok() {
        sleep(AGAIN).await;
        ends = &[END_OF_FILE];
    }
    Stop::Ended
}

/// Session to caller. Says whenever there is something to show.
async fn show(mut from: Inlet, mut to: Outlet, first: Vec<u8>, speaks: watch::Sender<()>) -> Stop {
    if !first.is_empty() {
        speaks.send_replace(());
    }
    if to.write_all(&first).await.is_err() {
        return Stop::HungUp;
    }
    let mut buffer = vec![0; STEP];
    // The kernel answers EIO once the last process has closed the inner end.
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        speaks.send_replace(());
        if to.write_all(&buffer[..count]).await.is_err() {
            return Stop::HungUp;
        }
    }
    Stop::Closed
}
