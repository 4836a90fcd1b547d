//! Signals that mean: end the command.

use crate::stderr;
use crate::sys::is_ignored;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for them.
pub(crate) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
    quit: Option<Signal>,
}

impl Signals {
    /// Whoever starts us with a signal ignored (`nohup`, a shell's background jobs) wants us to go on.
    pub(crate) fn new() -> io::Result<Self> {
        let wanted = |number| -> io::Result<Option<Signal>> {
            if is_ignored(number) { Ok(None) } else { signal(SignalKind::from_raw(number)).map(Some) }
        };
        // From here on they do not end us by themselves.
        stderr::be_brief();
        Ok(Self {
            interrupt: wanted(libc::SIGINT)?,
            terminate: wanted(libc::SIGTERM)?,
            hangup: wanted(libc::SIGHUP)?,
            quit: wanted(libc::SIGQUIT)?,
        })
    }

    /// The number of the next one. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> i32 {
        tokio::select! {
            () = arrival(&mut self.interrupt) => libc::SIGINT,
            () = arrival(&mut self.terminate) => libc::SIGTERM,
            () = arrival(&mut self.hangup) => libc::SIGHUP,
            () = arrival(&mut self.quit) => libc::SIGQUIT,
        }
    }
}

async fn arrival(signal: &mut Option<Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}
