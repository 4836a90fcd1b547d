//! Ending one command, and keeping its shell where that can be done.
//!
//! Its processes get the signal, and the shell SIGURG, for which the driver has a trap: the rest of the text
//! is left out (see [`driver`](super::driver)). A signal may come at a moment at which it is of no use, so that
//! it is sent until the shell has said that the command is over. One that does not is ended, as it is by
//! commands that changed the trap, wait in a `read`, or have `set -e`.

use super::live::{Live, Stage};
use super::output::Output;
use super::processes::{Process, below, of_session};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade_policy::Exit;

pub(super) const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
const SIGSTOP: i32 = 19;
/// What the driver leaves the rest of a text out for. One that has no trap for it does nothing.
const SIGURG: i32 = 23;
/// How long a cancelled command has to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// The same for one whose time is up, or that nobody wants any more.
const SHORT_GRACE: Duration = Duration::from_millis(500);
/// How often what is left is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long the shell has when nothing else of the command is left, and when it was told to end.
const LAST_MOMENT: Duration = Duration::from_millis(700);

/// A command that is being ended.
#[derive(Debug)]
pub(super) struct Stopping {
    /// What its processes are told.
    signal: i32,
    /// When they are killed.
    grace: Instant,
    /// When to look next what is left.
    pub(super) look: Instant,
    /// Since when the shell has nobody to wait for.
    alone: Option<Instant>,
    /// When the shell is killed, once it was told to end.
    shell: Option<Instant>,
}

/// Whether a shell that is given up has begun with the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    No,
    Perhaps,
    /// It is over, and nobody heard how it ended.
    Over,
}

impl Live {
    pub(super) fn cancel(&mut self, signal: i32) {
        self.forced.get_or_insert(Exit::Cancelled { signal });
        self.stop(signal, if signal == SIGKILL { SHORT_GRACE } else { GRACE });
    }

    /// What must be on record cannot be written: it does not go on.
    pub(super) fn cancel_unrecorded(&mut self) {
        self.cancel(SIGKILL);
    }

    pub(super) fn time_out(&mut self) {
        if let Some((_, limit)) = self.deadline.take() {
            self.forced = Some(Exit::TimedOut);
            self.refuse_time(limit);
        }
        self.stop(SIGTERM, SHORT_GRACE);
    }

    fn stop(&mut self, signal: i32, grace: Duration) {
        let now = Instant::now();
        let grace = now + grace;
        match &mut self.stopping {
            Some(stopping) => {
                (stopping.signal, stopping.grace) = (signal, grace.min(stopping.grace));
            }
            None => {
                self.stopping = Some(Stopping { signal, grace, look: now, alone: None, shell: None });
            }
        }
        let told = self.ending.len();
        self.press_on();
        // Those who were told before are told again.
        self.ending.iter().take(told).for_each(|process| process.signal(signal));
    }

    /// Tells whoever does not know it yet, and is clearer with those who do.
    pub(super) fn press_on(&mut self) {
        let (Some(stopping), Some(shell)) = (&mut self.stopping, &self.seat.shell) else { return };
        let now = Instant::now();
        stopping.look = now + LOOK;
        let found = below([shell.pid], self.since);
        let is_late = now >= stopping.grace;
        let alone = found.is_empty().then(|| stopping.alone.unwrap_or(now));
        stopping.alone = alone;
        let is_over = |since: Option<Instant>| since.is_some_and(|since| now >= since + LAST_MOMENT);
        let signal = if matches!(self.stage, Stage::Away) {
            // What it has become by `exec`, which is told once.
            let first = !std::mem::replace(&mut self.shell_told, true);
            if is_late { Some(SIGKILL) } else { first.then_some(stopping.signal) }
        } else if is_over(stopping.shell) {
            Some(SIGKILL)
        } else if stopping.shell.is_some() {
            None
        } else if is_over(alone) || is_over(Some(stopping.grace)) {
            // It says where it was and what it exported before it ends.
            stopping.shell = Some(now);
            self.shell_told = true;
            Some(SIGTERM)
        } else {
            Some(SIGURG)
        };
        // The shell first: it would go on with the text when the others are gone.
        if let (Some(signal), Some(process)) = (signal, Process::hold(shell.pid)) {
            process.signal(signal);
        }
        let known: HashSet<_> = self.ending.iter().map(Process::pid).collect();
        let new = found.into_iter().filter(|process| !known.contains(&process.pid()));
        self.ending.extend(new.inspect(|process| process.signal(stopping.signal)));
        if is_late {
            let later = below(known, self.since);
            self.ending.iter().chain(&later).for_each(|process| process.signal(SIGKILL));
        }
    }

    /// Stops a shell that is to be ended, and looks how far it has come. Somebody else may have read its order.
    pub(super) fn hold_still(&self) -> Begun {
        let Some(shell) = &self.seat.shell else { return Begun::Perhaps };
        if let Some(process) = Process::hold(shell.pid) {
            process.signal(SIGSTOP);
        }
        if shell.channel.has_unread() {
            Begun::No
        } else if shell.waits() && self.output.as_ref().is_some_and(Output::was_left) {
            Begun::Over
        } else {
            Begun::Perhaps
        }
    }

    /// Ends a shell that is of no use any more, with the command.
    pub(super) fn give_up(&mut self) {
        self.shell_told = true;
        let Some(shell) = &self.seat.shell else { return };
        // Found before the shell is gone: afterwards they are nobody's children.
        let found = below([shell.pid], self.since);
        found.iter().chain(&Process::hold(shell.pid)).for_each(|process| process.signal(SIGKILL));
    }

    /// What a command that was told to end started in its last moment has no parent any more. One that starts
    /// processes quicker than they are found takes everything in the sandbox along.
    pub(super) fn leave_nobody(&self) {
        // Who was told to end while the shell was done already is ended all the same.
        self.ending.iter().for_each(|process| process.signal(SIGKILL));
        let (Some(_), Some(shell)) = (self.forced, &self.seat.shell) else { return };
        const ATTEMPTS: usize = 10;
        let mut known = HashSet::new();
        for _ in 0..ATTEMPTS {
            let left = of_session(shell.pid, self.since);
            left.iter().for_each(|process| process.signal(SIGKILL));
            // Who was killed before may take a moment to go.
            let new = left.iter().filter(|process| known.insert(process.pid())).count();
            if new == 0 {
                return;
            }
        }
        let sandbox = Arc::clone(&self.walls.sandbox);
        tokio::spawn(async move { sandbox.stop().await });
    }
}
