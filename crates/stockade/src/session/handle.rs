//! A session as its callers hold it.

use super::apart::{Apart, Taking};
use super::background::{Background, BackgroundId, BackgroundOutput, BackgroundState};
use super::error::SessionError;
use super::house::Lasting;
use super::options::{Routing, SessionCommand, SessionOptions};
use super::post::Post;
use super::run::SessionRun;
use super::seat::Seat;
use super::shelf::Shelves;
use super::state::Kept;
use super::told::Told;
use super::walls::Walls;
use crate::network::NetworkHandle;
use crate::running::Running;
use crate::runtime::{Captured, Runtime};
use crate::shell;
use crate::wiring::Wiring;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use stockade_isolate::{Stdio, WindowSize};
use stockade_policy::{CommandLine, Enforcement, Event, Request};
use tokio::sync::Notify;

/// A sandbox that stays, with a shell in it that takes one command after the other.
///
/// Copies are handles to the same session. It ends, with everything inside, when it is closed, when it was
/// idle for too long, and when the last handle is dropped.
#[derive(Clone)]
pub struct Session {
    pub(super) inner: Arc<Inner>,
}

/// What all handles share.
pub(super) struct Inner {
    pub(super) id: String,
    pub(super) options: SessionOptions,
    /// Whoever runs a command in the shell sits here; the next one waits.
    pub(super) seat: Arc<tokio::sync::Mutex<Seat>>,
    pub(super) common: Mutex<Common>,
    /// Whoever starts a program beside the shell passes through; a command without walls keeps it shut.
    pub(super) gate: Arc<tokio::sync::RwLock<()>>,
    /// The shell has run something.
    pub(super) spoke: Arc<Notify>,
    background: Shelves,
}

/// What is looked at without waiting for the command that runs.
pub(super) struct Common {
    pub(super) runtime: Arc<Runtime>,
    pub(super) walls: Option<Arc<Walls>>,
    pub(super) kept: Kept,
    pub(super) post: Post,
    pub(super) told: Told,
    pub(super) used: Instant,
    pub(super) closed: bool,
}

impl Inner {
    pub(super) fn common(&self) -> MutexGuard<'_, Common> {
        // Fields are replaced whole, whatever became of who held the lock.
        self.common.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Builds the sandbox and starts the shell.
    pub async fn open(runtime: Arc<Runtime>, options: SessionOptions) -> Result<Self, SessionError> {
        let recorder = runtime.keeper().recorder();
        let exports = (!options.environment.is_empty()).then(|| options.environment.clone());
        let kept = Kept { cwd: options.cwd.clone(), exports };
        let (told, post) = (Told::default(), Post::default());
        let common = Common { runtime, walls: None, kept, post, told, used: Instant::now(), closed: false };
        let inner = Arc::new(Inner {
            id: recorder.name().to_owned(),
            options,
            seat: Arc::default(),
            gate: Arc::default(),
            common: Mutex::new(common),
            spoke: Arc::default(),
            background: Shelves::default(),
        });
        let session = Self { inner };
        session.settle_in().await?;
        session.expire();
        session.look_after();
        Ok(session)
    }

    /// What it is known by.
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    /// The runtime whose policy it obeys.
    pub fn runtime(&self) -> Arc<Runtime> {
        Arc::clone(&self.inner.common().runtime)
    }

    /// Which walls stand around it; nothing while there is no sandbox.
    pub fn enforcement(&self) -> Option<Enforcement> {
        self.inner.common().walls.as_ref().map(|walls| walls.sandbox.enforcement().clone())
    }

    /// The gateway of its network; `None` where its plan has none.
    pub fn network(&self) -> Option<NetworkHandle> {
        self.inner.common().walls.as_ref().and_then(|walls| walls.network.clone())
    }

    /// What the person should know about how its sandbox was made.
    pub fn warnings(&self) -> Vec<String> {
        self.inner.common().walls.as_ref().map(|walls| walls.warnings.clone()).unwrap_or_default()
    }

    /// Where its shell is, as far as it has said.
    pub fn cwd(&self) -> std::path::PathBuf {
        let common = self.inner.common();
        let workspace = common.walls.as_ref().map(|walls| walls.plan.workspace.clone());
        common.kept.cwd.clone().or(workspace).unwrap_or_default()
    }

    /// A request of its runtime, for where its shell is.
    pub(crate) fn placed(&self, request: Request) -> Request {
        self.inner.common().placed(request)
    }

    /// How long nobody has used it.
    pub fn idle(&self) -> std::time::Duration {
        self.inner.common().used.elapsed()
    }

    /// Gives a command to the shell, after those that were given before.
    ///
    /// The runtime's router is asked first, then its policy: what the embedder takes, and what is to run
    /// without walls, runs apart from the shell, and `sandboxed` of its outcome is false. What is refused is an
    /// error, and nothing has started.
    ///
    /// A command that the settings list runs without walls only while nothing else of the session is at work. It
    /// waits for its turn, and others wait for it; it keeps its walls where something goes on in the background.
    ///
    /// A shell that is gone is started anew, with everything around it where that is gone, too;
    /// [`Event::Restarted`] says so.
    pub async fn start(&self, command: SessionCommand) -> Result<SessionRun, SessionError> {
        SessionRun::start(self, command).await
    }

    /// Runs text to its end, without input, and keeps its output.
    pub async fn run(&self, text: impl Into<OsString>) -> Result<Captured, SessionError> {
        self.capture(SessionCommand::new(text)).await
    }

    /// Runs a command to its end and keeps its output.
    pub async fn capture(&self, command: SessionCommand) -> Result<Captured, SessionError> {
        let mut run = self.start(command).await?;
        drop(run.stdin());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        while let Some(event) = run.next().await {
            match event {
                Event::Stdout { data } => stdout.extend(data),
                Event::Stderr { data } => stderr.extend(data),
                Event::Exited(outcome) => return Ok(Captured { stdout, stderr, outcome: *outcome }),
                _ => {}
            }
        }
        Err(SessionError::Lost)
    }

    /// Runs a program beside the shell in the same sandbox, where the shell is and with what it exports.
    /// Several may run at once. Ending it leaves the sandbox standing. Its first events tell what there is to know
    /// about it: that it runs without walls, that the sandbox is a new one.
    pub async fn exec_argv(
        &self,
        argv: impl IntoIterator<Item = impl Into<OsString>>,
        wiring: Wiring,
    ) -> Result<Running, SessionError> {
        let argv = CommandLine::Argv(argv.into_iter().map(Into::into).collect());
        let (running, told) = self.beside(argv, wiring, Lasting::ForTheCaller).await?;
        Ok(running.telling(told))
    }

    /// Starts an interactive shell on a terminal of its own in the same sandbox. [`Running::terminal`] gives
    /// the outer end, [`crate::resize`] changes its size.
    pub async fn terminal(&self, size: WindowSize) -> Result<Running, SessionError> {
        let stdio = std::array::from_fn(|_| Stdio::Terminal(size));
        let wiring = Wiring { stdio, descriptors: Vec::new() };
        self.exec_argv([shell::program()], wiring).await
    }

    /// Runs text in a shell of its own beside the other one, and keeps what it prints until it is asked for.
    /// The router is asked first, as it is by [`Session::start`].
    pub async fn background(&self, text: impl Into<OsString>) -> Result<BackgroundId, SessionError> {
        let (id, told) = self.start_background(text.into(), Routing::Ask).await?;
        self.inner.owe(told);
        Ok(id)
    }

    /// The same, with what there is to tell about it.
    pub(crate) async fn start_background(
        &self,
        text: OsString,
        routing: Routing,
    ) -> Result<(BackgroundId, Vec<Event>), SessionError> {
        let (command, told) = match self.taken(&text, routing)? {
            Some(work) => (Apart::Taken(Taking::begin(work, None)), Vec::new()),
            None => {
                let command = CommandLine::Shell(text.clone());
                let (running, told) = self.beside(command, Wiring::captured(), Lasting::InBackground).await?;
                (Apart::process(running, told.clone()), told)
            }
        };
        let most = self.inner.options.background_bytes;
        let id = self.inner.background.add(|slot| Background::begin(text, command, most, slot));
        Ok((id, told))
    }

    /// What a background command printed from a piece on, and whether it still runs.
    ///
    /// All that ended keep 16 MiB together, and 256 are remembered: the oldest lose their output first, which
    /// a notice tells, and are [forgotten](SessionError::Forgotten) later.
    pub fn poll(&self, id: BackgroundId, from_seq: u64) -> Result<BackgroundOutput, SessionError> {
        Ok(self.find(id)?.output(from_seq))
    }

    /// Waits for the end of a background command.
    pub async fn wait_background(&self, id: BackgroundId) -> Result<BackgroundOutput, SessionError> {
        let background = self.find(id)?;
        background.wait().await;
        Ok(background.output(0))
    }

    /// Ends a background command: this signal first, SIGKILL to what is left of it two seconds later.
    pub fn kill_background(&self, id: BackgroundId, signal: i32) -> Result<(), SessionError> {
        self.find(id)?.cancel(signal);
        Ok(())
    }

    /// Forgets a background command; one that runs is killed.
    pub fn forget_background(&self, id: BackgroundId) {
        self.inner.background.forget(id);
    }

    /// The background commands: their number, their text, their state.
    pub fn list_background(&self) -> Vec<(BackgroundId, OsString, BackgroundState)> {
        self.inner.background.list()
    }

    /// Builds the sandbox anew, under this runtime's policy from now on. The shell's working directory and
    /// exported variables are kept where they still may be; a command that runs is waited for, background
    /// commands end.
    pub async fn rebuild(&self, runtime: Arc<Runtime>) -> Result<(), SessionError> {
        self.move_house(runtime).await
    }

    /// Ends everything inside and removes what is left. Whoever waits for a command of it hears its end.
    pub async fn close(&self) {
        let walls = {
            let mut common = self.inner.common();
            common.closed = true;
            common.walls.take()
        };
        self.inner.background.clear();
        if let Some(walls) = walls {
            walls.fall().await;
        }
        let seat = Arc::clone(&self.inner.seat);
        if self.inner.gate.try_read().is_err() {
            // One without walls is its caller's, and goes on.
            tokio::spawn(async move { *seat.lock().await = Seat::default() });
            return;
        }
        // A command that was running has seen its shell end.
        *seat.lock().await = Seat::default();
    }

    fn find(&self, id: BackgroundId) -> Result<Arc<Background>, SessionError> {
        self.inner.background.find(id)
    }

    /// Whether background commands run.
    pub(super) fn is_busy(&self) -> bool {
        self.inner.background.is_busy()
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Session").field("id", &self.inner.id).finish_non_exhaustive()
    }
}
