//! What goes on beside a session's commands: refusals, questions and connections are heard at any time, also
//! when no command runs, and told to the one that does.

use super::told::is_about_settings;
use crate::asking::{Desk, Waiting};
use crate::backlog::{Listener, Teller, backlog};
use crate::network::Opened;
use crate::reload::Following;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stockade_isolate::Running;
use stockade_policy::{Event, Exit};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Changes of the settings that are kept while nobody listens.
const MOST_MISSED: usize = 64;

/// Where events go: to the command that runs. What concerns the next one waits for it.
#[derive(Debug, Default)]
pub(super) struct Ear(Mutex<Hearing>);

#[derive(Debug, Default)]
struct Hearing {
    listener: Option<Teller>,
    missed: VecDeque<Event>,
}

impl Ear {
    fn hearing(&self) -> MutexGuard<'_, Hearing> {
        // Replaced whole, whatever became of who held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Events go here from now on.
    pub(super) fn listen(&self) -> Listener {
        let (teller, listener) = backlog();
        self.hearing().listener = Some(teller);
        listener
    }

    /// And from now on to nobody.
    pub(super) fn be_deaf(&self) {
        self.hearing().listener = None;
    }

    fn tell(&self, event: Event) {
        let mut hearing = self.hearing();
        let unheard = match &hearing.listener {
            Some(listener) => listener.tell(event),
            None => Some(event),
        };
        if let Some(event) = unheard.filter(is_about_settings) {
            hearing.missed.push_back(event);
            if hearing.missed.len() > MOST_MISSED {
                hearing.missed.pop_front();
            }
        }
    }

    /// What came while nobody listened.
    pub(super) fn take_missed(&self) -> VecDeque<Event> {
        std::mem::take(&mut self.hearing().missed)
    }
}

/// Follows a shell's process. Dropping it kills the shell.
#[derive(Debug)]
pub(super) struct Tender {
    turns: mpsc::UnboundedSender<oneshot::Sender<u64>>,
    ended: watch::Receiver<Option<Exit>>,
    task: JoinHandle<()>,
}

impl Tender {
    pub(super) fn begin(running: Running, desk: Option<Arc<Desk>>, ear: Arc<Ear>) -> Self {
        let (turns, asked) = mpsc::unbounded_channel();
        let (end, ended) = watch::channel(None);
        let task = tokio::spawn(tend(running, Waiting::new(desk), ear, asked, end));
        Self { turns, ended, task }
    }

    /// Waits until everything that was said about the command that just ended has been told, and tells how
    /// many refusals were only counted.
    pub(super) fn turn(&self) -> oneshot::Receiver<u64> {
        let (sender, receiver) = oneshot::channel();
        // A shell that is gone has told everything.
        let _ = self.turns.send(sender);
        receiver
    }

    /// How the process ended, once it has.
    pub(super) fn ended(&self) -> Option<Exit> {
        *self.ended.borrow()
    }

    /// Waits for the end of the process. May be dropped and called again.
    pub(super) async fn end(&mut self) -> Exit {
        const SIGKILL: i32 = 9;
        match self.ended.wait_for(Option::is_some).await {
            Ok(exit) => exit.unwrap_or(Exit::Signal { signal: SIGKILL }),
            Err(_) => Exit::Signal { signal: SIGKILL },
        }
    }
}

impl Drop for Tender {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn tend(
    mut running: Running,
    mut waiting: Waiting,
    ear: Arc<Ear>,
    mut turns: mpsc::UnboundedReceiver<oneshot::Sender<u64>>,
    end: watch::Sender<Option<Exit>>,
) {
    let mut turning: Option<(oneshot::Receiver<u64>, oneshot::Sender<u64>)> = None;
    loop {
        tokio::select! {
            biased;
            (id, reply) = waiting.next() => running.reply(id, reply),
            event = running.next() => match event {
                Some(Event::Exited(outcome)) => {
                    end.send_replace(Some(outcome.exit));
                    return;
                }
                Some(Event::Ask(ask)) => {
                    waiting.begin(ask.clone());
                    ear.tell(Event::Ask(ask));
                }
                // The process of a shell that lives longer is nothing a command should hear about.
                Some(Event::Started { .. }) => {}
                Some(event) => ear.tell(event),
                None => {
                    const SIGKILL: i32 = 9;
                    end.send_replace(Some(Exit::Signal { signal: SIGKILL }));
                    return;
                }
            },
            // What was told before is in the events by then.
            counted = turned(&mut turning) => {
                if let Some((_, asker)) = turning.take() {
                    let _ = asker.send(counted);
                }
            }
            Some(asker) = turns.recv(), if turning.is_none() => turning = Some((running.turn(), asker)),
        }
    }
}

async fn turned(turning: &mut Option<(oneshot::Receiver<u64>, oneshot::Sender<u64>)>) -> u64 {
    match turning {
        Some((told, _)) => told.await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// Passes on the gateway's records, and that settings changed, for as long as the sandbox lives.
#[derive(Debug)]
pub(super) struct Recording(JoinHandle<()>);

impl Recording {
    pub(super) fn begin(mut network: Option<Opened>, mut following: Following, ear: Arc<Ear>) -> Self {
        Self(tokio::spawn(async move {
            loop {
                let record = async {
                    match &mut network {
                        Some(network) => network.next().await,
                        None => std::future::pending().await,
                    }
                };
                let event = tokio::select! {
                    event = record => event,
                    event = following.next() => event,
                };
                ear.tell(event);
            }
        }))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.0.abort();
    }
}
