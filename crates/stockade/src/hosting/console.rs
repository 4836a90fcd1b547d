//! The terminal of a hosted session, and who is connected to it.
//!
//! There is one, with an interactive shell on it. A client gets the outer end itself and talks to the shell
//! without us in between. While nobody is connected its output is taken here, so that what runs there is not
//! stopped by a full terminal, and the last of it is shown to whoever comes next.

use super::TerminalState;
use super::host::Shared;
use super::message::{AttachWish, Bytes, Told};
use super::serve::refused;
use super::wire::Wire;
use crate::relay::Inlet;
use crate::{Running, resize};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use stockade_isolate::WindowSize;
use stockade_policy::Event;
use tokio::sync::{Mutex as Turn, mpsc};

/// Bytes that are shown to whoever comes next.
const SHOWN: usize = 16 << 10;
/// How long a client that is told to go may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a program may take to see that its window has changed.
const GLANCE: Duration = Duration::from_millis(50);
const STEP: usize = 4 << 10;
const HANG_UP: i32 = 129;

/// The terminal, where there is one.
#[derive(Debug, Default)]
pub(super) struct Console {
    desk: Mutex<Option<mpsc::Sender<Visitor>>>,
    state: Mutex<TerminalState>,
    /// Two clients that come at once make one terminal.
    making: Turn<()>,
}

/// A client that wants to be connected.
#[derive(Debug)]
struct Visitor {
    wire: Wire,
    size: WindowSize,
    wish: AttachWish,
}

impl Console {
    pub(super) fn state(&self) -> TerminalState {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: TerminalState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    fn desk(&self) -> MutexGuard<'_, Option<mpsc::Sender<Visitor>>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connects a client to the terminal, which is made where there is none.
pub(super) async fn attach(
    wire: Wire,
    size: WindowSize,
    wish: AttachWish,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    let console = &shared.console;
    let _turn = console.making.lock().await;
    let mut visitor = Visitor { wire, size, wish };
    let desk = console.desk().clone();
    if let Some(desk) = desk {
        match desk.send(visitor).await {
            Ok(()) => return Ok(()),
            // Its shell has just ended.
            Err(mpsc::error::SendError(back)) => visitor = back,
        }
    }
    let mut running = match shared.session.terminal(size).await {
        Ok(running) => running,
        Err(error) => return visitor.wire.say(&refused(error), &[]).await,
    };
    let Some(outer) = running.terminal() else {
        return visitor.wire.say(&refused("the session's shell has no terminal"), &[]).await;
    };
    let (desk, visitors) = mpsc::channel(1);
    console.set(TerminalState::Detached);
    *console.desk() = Some(desk.clone());
    let keeper = Keeper {
        running,
        drained: Inlet::new(outer.try_clone()?)?,
        outer,
        visitors,
        visitor: None,
        visits: 0,
        shown: VecDeque::new(),
        shared: Arc::downgrade(shared),
    };
    tokio::spawn(keeper.keep());
    // The channel has room for one.
    let _ = desk.send(visitor).await;
    Ok(())
}

/// Looks after the terminal until its shell ends.
struct Keeper {
    running: Running,
    drained: Inlet,
    outer: OwnedFd,
    visitors: mpsc::Receiver<Visitor>,
    visitor: Option<Wire>,
    visits: u64,
    shown: VecDeque<u8>,
    shared: Weak<Shared>,
}

/// What a keeper has to do.
enum Task {
    Event(Option<Event>),
    Output(Vec<u8>),
    Come(Option<Visitor>),
    Gone,
}

impl Keeper {
    async fn keep(mut self) {
        let mut hung_up = false;
        let status = loop {
            match self.next(hung_up).await {
                Task::Event(Some(Event::Exited(outcome))) => break outcome.exit_code,
                Task::Event(None) => break HANG_UP,
                Task::Event(Some(_)) => {}
                Task::Output(bytes) if bytes.is_empty() => hung_up = true,
                Task::Output(bytes) => {
                    self.shown.extend(bytes);
                    let surplus = self.shown.len().saturating_sub(SHOWN);
                    self.shown.drain(..surplus);
                    if let Some(shared) = self.shared.upgrade() {
                        shared.touch();
                    }
                }
                Task::Come(Some(visitor)) => self.welcome(visitor).await,
                Task::Come(None) => break HANG_UP,
                Task::Gone => self.part(),
            }
        };
        if let Some(wire) = &self.visitor {
            let _ = wire.say(&Told::Left { status }, &[]).await;
        }
        self.visitors.close();
        // Whoever came in the last moment.
        while let Ok(visitor) = self.visitors.try_recv() {
            let _ = visitor.wire.say(&Told::Left { status }, &[]).await;
        }
        if let Some(shared) = self.shared.upgrade() {
            *shared.console.desk() = None;
            shared.console.set(TerminalState::None);
            shared.shell_ended();
        }
    }

    async fn next(&mut self, hung_up: bool) -> Task {
        let Self { running, drained, visitors, visitor, .. } = self;
        let mut bytes = vec![0; STEP];
        let alone = visitor.is_none();
        tokio::select! {
            biased;
            event = running.next() => Task::Event(event),
            come = visitors.recv() => Task::Come(come),
            // A client has nothing to say but that it goes.
            _ = gone(visitor) => Task::Gone,
            read = drained.read(&mut bytes), if alone && !hung_up => {
                bytes.truncate(read.unwrap_or(0));
                Task::Output(bytes)
            }
        }
    }

    async fn welcome(&mut self, visitor: Visitor) {
        let Visitor { wire, size, wish } = visitor;
        if let Some(earlier) = self.visitor.take() {
            match wish {
                AttachWish::IfFree => {
                    self.visitor = Some(earlier);
                    let reason =
                        "somebody is connected to the session's terminal already\nhint: --take takes it over";
                    let _ = wire.say(&refused(reason), &[]).await;
                    return;
                }
                AttachWish::TakeOver => {
                    let _ = earlier.say(&Told::Detached, &[]).await;
                    // Whoever still reads would take what is meant for the next one.
                    let mut earlier = Some(earlier);
                    let _ = tokio::time::timeout(PATIENCE, gone(&mut earlier)).await;
                }
            }
        }
        let shown = Bytes::from(self.shown.drain(..).collect::<Vec<u8>>());
        // A window that changes is painted anew. One without a size is not worth a failure.
        if self.visits > 0 {
            let _ = resize(&self.outer, WindowSize { columns: size.columns.saturating_sub(1), ..size });
            tokio::time::sleep(GLANCE).await;
        }
        self.visits += 1;
        let _ = resize(&self.outer, size);
        if wire.say(&Told::Attached { shown }, &[self.outer.as_fd()]).await.is_ok() {
            self.visitor = Some(wire);
            self.tell(TerminalState::Attached);
        } else {
            self.part();
        }
    }

    fn part(&mut self) {
        self.visitor = None;
        self.tell(TerminalState::Detached);
    }

    fn tell(&self, state: TerminalState) {
        if let Some(shared) = self.shared.upgrade() {
            shared.console.set(state);
            shared.touch();
        }
    }
}

async fn gone(visitor: &mut Option<Wire>) {
    match visitor {
        // Whatever it says is not for us; it has gone too far.
        Some(wire) => drop(wire.next::<serde_json::Value>().await),
        None => std::future::pending().await,
    }
}
