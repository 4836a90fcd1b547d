//! A process that hosts a session.

use super::console::Console;
use super::message::{SessionStatus, TerminalState};
use super::serve::serve;
use super::{Claim, HostError, SessionPlace};
use crate::private::now;
use crate::{BackgroundState, Session};
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Connections at once. A client needs one.
const CLIENTS: usize = 64;
/// How often it is looked whether the session is in use.
const LOOK: Duration = Duration::from_secs(1);
/// How long everything inside, and then the clients, may take to end.
const FAREWELL: Duration = Duration::from_secs(3);

/// How a session is hosted.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// The directory it was made in.
    pub workspace: PathBuf,
    /// It ends after nobody has used it for this long.
    pub idle: Option<Duration>,
    /// Whether it goes on after the shell on its terminal has ended.
    pub lifetime: Lifetime,
}

/// How long a hosted session lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Until somebody ends it, or nobody uses it.
    Own,
    /// No longer than the shell on its terminal, unless commands are still running then.
    Terminal,
}

/// Why a host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A client asked for it.
    Asked,
    /// The shell on its terminal ended, and nothing else ran.
    Shell,
    /// Nobody used it for too long.
    Idle,
    /// This signal came.
    Signal(i32),
}

impl std::fmt::Display for Ending {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Asked => out.write_str("a client ended it"),
            Self::Shell => out.write_str("its shell ended"),
            Self::Idle => out.write_str("nobody used it"),
            Self::Signal(signal) => write!(out, "signal {signal} ended it"),
        }
    }
}

/// A session with a socket.
#[derive(Debug)]
pub struct Host {
    claim: Claim,
    listener: UnixListener,
    shared: Arc<Shared>,
}

/// What all connections know.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) session: Session,
    pub(super) console: Console,
    claimed: super::SessionName,
    options: HostOptions,
    since: u64,
    commands: AtomicU64,
    used: Mutex<Instant>,
    closing: watch::Sender<Option<Ending>>,
}

/// A use of the session, for as long as it lives.
#[derive(Debug)]
pub(super) struct InUse(Arc<Shared>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.commands.fetch_sub(1, Ordering::AcqRel);
        self.0.touch();
    }
}

impl Shared {
    /// Says that the session is in use.
    pub(super) fn hold(self: &Arc<Self>) -> InUse {
        self.commands.fetch_add(1, Ordering::AcqRel);
        self.touch();
        InUse(Arc::clone(self))
    }

    pub(super) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// The shell on the terminal has ended.
    pub(super) fn shell_ended(&self) {
        self.touch();
        if self.options.lifetime == Lifetime::Terminal && !self.is_busy() {
            self.end(Ending::Shell);
        }
    }

    /// Ends the host.
    pub(super) fn end(&self, why: Ending) {
        self.closing.send_replace(Some(why));
    }

    pub(super) fn status(&self) -> SessionStatus {
        let idle = if self.is_busy() { Duration::ZERO } else { self.idle() };
        SessionStatus {
            name: self.claimed.clone(),
            pid: std::process::id(),
            since: self.since,
            workspace: self.options.workspace.clone(),
            preset: self.session.runtime().policy().preset().to_owned(),
            commands: self.commands.load(Ordering::Acquire),
            background: self.background(),
            terminal: self.console.state(),
            idle_ms: milliseconds(idle),
            expires_ms: self.options.idle.map(milliseconds),
        }
    }

    fn idle(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    fn background(&self) -> u64 {
        let running = |state: &BackgroundState| matches!(state, BackgroundState::Running);
        let all = self.session.list_background();
        all.iter().filter(|(_, _, state)| running(state)).count() as u64
    }

    /// Whether somebody waits for something, so that silence is no idleness.
    fn is_busy(&self) -> bool {
        self.commands.load(Ordering::Acquire) > 0
            || self.console.state() == TerminalState::Attached
            || self.background() > 0
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Host {
    /// Hosts a session under a name that was claimed. Needs a tokio runtime.
    pub fn new(
        place: &SessionPlace,
        claim: Claim,
        session: Session,
        options: HostOptions,
    ) -> Result<Self, HostError> {
        let unfit = |source| HostError::Place { path: place.path().to_owned(), source };
        let listener = claim.listener().and_then(UnixListener::from_std).map_err(unfit)?;
        let shared = Arc::new(Shared {
            session,
            console: Console::default(),
            claimed: claim.name().clone(),
            options,
            since: now(),
            commands: AtomicU64::new(0),
            used: Mutex::new(Instant::now()),
            closing: watch::Sender::new(None),
        });
        Ok(Self { claim, listener, shared })
    }

    /// Serves until a client ends the session, nobody uses it for too long, or `stop` comes with a signal. By
    /// then nothing of it is left.
    pub async fn serve(self, stop: impl Future<Output = i32>) -> Ending {
        let Self { claim, listener, shared } = self;
        let mut clients = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        let mut closing = shared.closing.subscribe();
        let mut look = tokio::time::interval(LOOK);
        let ending = loop {
            tokio::select! {
                biased;
                signal = &mut stop => break Ending::Signal(signal),
                why = closing.wait_for(Option::is_some) => {
                    break why.ok().and_then(|why| *why).unwrap_or(Ending::Asked);
                }
                Some(_) = clients.join_next() => {}
                _ = look.tick() => {
                    if shared.is_busy() {
                        shared.touch();
                    } else if shared.options.idle.is_some_and(|idle| shared.idle() >= idle) {
                        break Ending::Idle;
                    }
                }
                come = listener.accept(), if clients.len() < CLIENTS => match come {
                    Ok((stream, _)) => {
                        clients.spawn(serve(stream, Arc::clone(&shared)));
                    }
                    // Out of descriptors: those that are there may end.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                },
            }
        };
        drop(listener);
        // A process that cannot be killed must not keep the name for ever.
        let _ = tokio::time::timeout(FAREWELL, shared.session.close()).await;
        // Clients hear how their commands ended.
        let last = async { while clients.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(FAREWELL, last).await;
        clients.shutdown().await;
        drop(shared);
        drop(claim);
        ending
    }
}
