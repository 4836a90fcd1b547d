//! Follows a running command to its end.

use super::closing::haste_of;
use super::events::EventLog;
use super::reloads::Reloads;
use super::review::Reviewing;
use super::shown::Shown;
use super::signals::Signals;
use super::terminal::{Said, Terminal};
use crate::stderr::Haste;
use std::time::Duration;
use stockade::{Event, Notice, Outcome, Running};
use tokio::time::{Instant, sleep_until};

/// A cancelled command is killed after two seconds; then only a reader that does not read can hold us.
const PATIENCE: Duration = Duration::from_secs(4);

/// How long the last lines of a run that was ended may take to be read.
const LAST_LINES: Duration = Duration::from_secs(1);

/// How it ended.
pub(super) enum End {
    /// With an outcome, and with what else was said about the run.
    Told(Box<Outcome>, Vec<Notice>),
    /// Cancelled with this signal, and not waited for to the last word.
    GivenUp(i32),
    /// The engine went away.
    Lost,
}

pub(super) async fn watch(
    mut running: Running,
    log: &mut Option<EventLog>,
    signals: &mut Signals,
    mut terminal: Option<Terminal>,
    mut shown: Shown,
    reviewing: &Reviewing,
    reloads: &mut Reloads,
) -> End {
    let mut cancelled: Option<(i32, Instant)> = None;
    let mut said = Vec::new();
    let end = loop {
        tokio::select! {
            biased;
            signal = signals.next() => match cancelled {
                None => {
                    running.cancel(signal);
                    cancelled = Some((signal, Instant::now() + PATIENCE));
                }
                // Asked twice: no more waiting.
                Some((first, _)) => break End::GivenUp(first),
            },
            () = until(cancelled) => break End::GivenUp(cancelled.map_or(libc::SIGKILL, |(signal, _)| signal)),
            said = next_of(&mut terminal) => if said == Said::HungUp {
                running.signal(libc::SIGHUP);
            },
            event = step(&mut running, log, &mut shown) => match event {
                None => break End::Lost,
                Some(event) => {
                    let Some(mut event) = shown.take(event) else { continue };
                    reloads.hear(&event);
                    let notices = match &mut event {
                        Event::Exited(outcome) => reviewing.end(outcome),
                        _ => Vec::new(),
                    };
                    if let Some(log) = log {
                        notices.into_iter().for_each(|notice| log.push(&Event::Notice(notice)));
                        log.push(&event);
                    }
                    match event {
                        Event::Exited(outcome) => break End::Told(outcome, said),
                        Event::Notice(notice) => said.push(notice),
                        _ => {}
                    }
                }
            },
        }
    };
    // Where the end was not told, this kills what is left.
    drop(running);
    tokio::select! {
        () = shown.flush() => {}
        _ = signals.next() => {}
        () = until(cancelled) => {}
    }
    let haste = match &end {
        End::Told(outcome, _) => haste_of(outcome),
        End::GivenUp(_) | End::Lost => Haste::Great,
    };
    if let Some(terminal) = terminal {
        tokio::select! {
            () = terminal.end(haste) => {}
            _ = signals.next() => {}
        }
    }
    if let Some(log) = log {
        let patience = if haste == Haste::Great { LAST_LINES } else { PATIENCE };
        let _ = tokio::time::timeout(patience, log.flush()).await;
    }
    end
}

/// Writes what is known, then waits for more. Output that waits for a question's end holds nothing up.
async fn step(running: &mut Running, log: &mut Option<EventLog>, shown: &mut Shown) -> Option<Event> {
    if let Some(log) = log {
        tokio::select! {
            () = log.flush() => {}
            // Who does not read keeps nobody from hearing the end.
            () = running.overdue() => log.give_up(),
        }
    }
    loop {
        tokio::select! {
            biased;
            event = running.next() => return event,
            () = shown.flush(), if !shown.is_empty() => {}
        }
    }
}

async fn until(cancelled: Option<(i32, Instant)>) {
    match cancelled {
        Some((_, patience)) => sleep_until(patience).await,
        None => std::future::pending().await,
    }
}

async fn next_of(terminal: &mut Option<Terminal>) -> Said {
    match terminal {
        Some(terminal) => terminal.next().await,
        None => std::future::pending().await,
    }
}
