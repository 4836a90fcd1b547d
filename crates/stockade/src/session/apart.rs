//! Commands of a session that its shell does not run.

use super::live::until;
use crate::routing::captured;
use crate::running::Running;
use crate::{Captured, Taken};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use stockade_isolate::BoxFuture;
use stockade_policy::{Event, Exit};
use tokio::net::unix::pipe;
use tokio::task::{JoinError, JoinHandle};

const SIGKILL: i32 = 9;

/// Whose it is instead.
#[derive(Debug)]
pub(super) enum Apart {
    /// A process of its own: beside the shell, or without walls as the policy decided.
    Process {
        /// What there is to tell before its own events.
        told: VecDeque<Event>,
        running: Box<Running>,
    },
    /// The embedder's.
    Taken(Taking),
}

impl Apart {
    pub(super) fn process(running: Running, told: Vec<Event>) -> Self {
        Self::Process { told: told.into(), running: Box::new(running) }
    }

    /// The next event. May be dropped and called again without losing anything.
    pub(super) async fn next(&mut self) -> Option<Event> {
        match self {
            Self::Process { told, running } => match told.pop_front() {
                Some(event) => Some(event),
                None => running.next().await,
            },
            Self::Taken(taking) => taking.next().await,
        }
    }

    pub(super) fn id(&self) -> &str {
        match self {
            Self::Process { running, .. } => running.id(),
            Self::Taken(_) => "",
        }
    }

    pub(super) fn stdin(&mut self) -> Option<pipe::Sender> {
        match self {
            Self::Process { running, .. } => running.stdin(),
            Self::Taken(_) => None,
        }
    }

    pub(super) fn cancel(&mut self, signal: i32) {
        match self {
            Self::Process { running, .. } => running.cancel(signal),
            Self::Taken(taking) => taking.end(Exit::Cancelled { signal }),
        }
    }
}

/// A command that the embedder took. Dropping it drops the embedder's work.
#[derive(Debug)]
pub(super) struct Taking {
    /// Absent once it is over.
    work: Option<JoinHandle<Taken>>,
    begun: Instant,
    deadline: Option<Instant>,
    /// What is to be told next.
    queue: VecDeque<Event>,
}

impl Taking {
    pub(super) fn begin(work: BoxFuture<'static, Taken>, limit: Option<Duration>) -> Self {
        let begun = Instant::now();
        let deadline = limit.map(|limit| begun + limit);
        Self { work: Some(tokio::spawn(work)), begun, deadline, queue: VecDeque::new() }
    }

    async fn next(&mut self) -> Option<Event> {
        if self.queue.is_empty() {
            let work = self.work.as_mut()?;
            let done = tokio::select! {
                biased;
                done = work => Some(done),
                () = until(self.deadline) => None,
            };
            match done {
                Some(Ok(taken)) => {
                    self.work = None;
                    self.tell(captured(taken, self.begun));
                }
                Some(Err(error)) => self.fail(error),
                None => self.end(Exit::TimedOut),
            }
        }
        self.queue.pop_front()
    }

    /// Whoever waits sees the embedder's panic, as if the work had been done here.
    fn fail(&mut self, error: JoinError) {
        match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => self.end(Exit::Cancelled { signal: SIGKILL }),
        }
    }

    /// Ends it, unless it is over.
    fn end(&mut self, exit: Exit) {
        let Some(work) = self.work.take() else { return };
        work.abort();
        let mut ended = captured(Taken::default(), self.begun);
        (ended.outcome.exit, ended.outcome.exit_code) = (exit, exit.status());
        self.tell(ended);
    }

    fn tell(&mut self, Captured { stdout, stderr, outcome }: Captured) {
        let output = [Event::Stdout { data: stdout }, Event::Stderr { data: stderr }];
        let some = |event: &Event| match event {
            Event::Stdout { data } | Event::Stderr { data } => !data.is_empty(),
            _ => true,
        };
        self.queue.extend(output.into_iter().filter(some).chain([Event::Exited(Box::new(outcome))]));
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            work.abort();
        }
    }
}
