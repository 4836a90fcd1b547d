//! Follows a running command to its end.

use super::closing::haste_of;
use super::events::{EventLog, Patience};
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

/// How long a reader of events that takes none holds the end of a run.
const LAST_LINES: Duration = Duration::from_millis(500);

/// The same where a signal ended it: enough for somebody who is about to read.
const LAST_MOMENT: Duration = Duration::from_millis(50);

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
        let without_a_read = if cancelled.is_some() { LAST_MOMENT } else { LAST_LINES };
        let in_all = if haste == Haste::Great { LAST_LINES } else { PATIENCE };
        tokio::select! {
            () = log.finish(Patience { without_a_read, in_all }) => {}
            _ = signals.next() => {}
        }
    }
    end
}

/// Waits for more, and writes meanwhile what is known: whoever does not read is not waited for. Output that waits for
/// a question's end holds nothing up either.
async fn step(running: &mut Running, log: &mut Option<EventLog>, shown: &mut Shown) -> Option<Event> {
    loop {
        tokio::select! {
            biased;
            // First, or a command that makes events without end would keep them from being written.
            () = flush(log) => {}
            event = running.next() => return event,
            () = shown.flush(), if !shown.is_empty() => {}
        }
    }
}

/// Never comes where nothing waits to be written.
async fn flush(log: &mut Option<EventLog>) {
    match log.as_mut().filter(|log| log.is_waiting()) {
        Some(log) => log.flush().await,
        None => std::future::pending().await,
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
