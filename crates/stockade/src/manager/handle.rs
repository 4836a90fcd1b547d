//! A manager as its callers hold it.

use super::allowed::Allowed;
use super::error::ManagerError;
use super::input::{InputError, ToolInput};
use super::perform::{Watcher, is_without_walls, no_walls, notice, perform, refused, request};
use super::result::ToolResult;
use super::shared::Shared;
use super::status::{ManagerState, ManagerStatus, SandboxInfo, SandboxStatus};
use super::tasks::{BackgroundInfo, Place};
use crate::routing::captured;
use crate::session::{Lasting, Routing};
use crate::{
    BackgroundOutput, BackgroundState, BoxFuture, Builder, Routed, Session, SessionError, SessionOptions,
    Taken,
};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade_policy::{Decision, Event, Verdict};

const SIGTERM: i32 = 15;
/// Told when a session was closed because nobody used it.
const EXPIRED: &str = "nobody used the sandbox for so long that it was ended: working directory, variables and files \
                       in /tmp are gone";

/// One sandbox for an agent's tool calls, made when the first one comes and kept for those that follow.
///
/// Copies are handles to the same manager; [`Manager::isolated_copy`] makes another one. When the last handle
/// is dropped everything ends that runs in its sandbox.
#[derive(Clone)]
pub struct Manager {
    pub(super) shared: Arc<Shared>,
}

impl Manager {
    /// A manager of what this describes. Nothing is read or made yet.
    pub fn new(builder: Builder) -> Self {
        Self::with_options(builder, SessionOptions::default())
    }

    /// The same, with a say in how its shell begins and when it ends.
    pub fn with_options(builder: Builder, options: SessionOptions) -> Self {
        Self { shared: Arc::new(Shared::new(builder, options, Vec::new())) }
    }

    /// Another manager with a sandbox of its own. It begins with what is allowed here now; what either is
    /// allowed later is not the other's. A [`GrantStore`](crate::GrantStore) that the builder was given is shared
    /// by both.
    pub fn isolated_copy(&self) -> Self {
        let unnamed = |allowed: &Allowed| Allowed { given: allowed.given.clone(), ids: Vec::new() };
        let allowed = self.shared.state().allowed.iter().map(unnamed).collect();
        let shared = Shared::new(self.shared.builder.clone(), self.shared.options.clone(), allowed);
        Self { shared: Arc::new(shared) }
    }

    /// What the policy says to a call, before it is run.
    pub fn decide(&self, input: &ToolInput) -> Result<Decision, ManagerError> {
        input.check()?;
        let runtime = self.shared.runtime()?;
        let session = self.shared.state().session.clone();
        let request = request(&runtime, session.as_ref(), input);
        let lasting = if input.run_in_background { Lasting::InBackground } else { Lasting::ForTheCaller };
        Ok(match session {
            Some(session) => session.check(&runtime, &request, lasting),
            None => runtime.check(&request),
        })
    }

    /// Runs a call and waits for its end; one for the background comes back at once.
    ///
    /// What the policy does not let run is a result with `blocked`. An error means that nothing could be run
    /// as the settings want it, and nothing was.
    pub async fn execute(&self, input: ToolInput) -> Result<ToolResult, ManagerError> {
        self.execute_watched(input, |_| {}).await
    }

    /// The same, and every event is shown as it comes: output, refusals, connections.
    pub async fn execute_watched(
        &self,
        input: ToolInput,
        mut watcher: impl FnMut(&Event) + Send,
    ) -> Result<ToolResult, ManagerError> {
        input.check()?;
        self.shared.sweep().await;
        let runtime = self.shared.runtime()?;
        let mut result = if let Routed::Taken(work) = runtime.route(&request(&runtime, None, &input)) {
            taken(work).await
        } else if input.run_in_background {
            self.start_background(&input).await?
        } else {
            let _turn = self.shared.turn.lock().await;
            self.perform_here(&input, &mut watcher).await?
        };
        let untold = std::mem::take(&mut self.shared.state().untold);
        result.notices.splice(0..0, untold);
        Ok(result)
    }

    async fn perform_here(
        &self,
        input: &ToolInput,
        watcher: Watcher<'_>,
    ) -> Result<ToolResult, ManagerError> {
        let session = self.shared.session().await?;
        match perform(&self.shared, &session, input, &[], &mut *watcher).await {
            Err(ManagerError::Session(SessionError::Closed)) => {
                self.forget(&session)?;
                let session = self.shared.session().await?;
                perform(&self.shared, &session, input, &[], watcher).await
            }
            done => done,
        }
    }

    async fn start_background(&self, input: &ToolInput) -> Result<ToolResult, ManagerError> {
        if input.dangerously_disable_sandbox {
            return Err(InputError::BareBackground.into());
        }
        let session = match self.shared.standing() {
            Some(session) => session,
            None => {
                let _turn = self.shared.turn.lock().await;
                self.shared.session().await?
            }
        };
        let (session, id, events) =
            match session.start_background((&input.command).into(), Routing::Asked).await {
                Ok((id, events)) => (session, id, events),
                Err(SessionError::Prepare(error)) => return refused(error),
                Err(SessionError::Closed) => {
                    self.forget(&session)?;
                    let _turn = self.shared.turn.lock().await;
                    let session = self.shared.session().await?;
                    let (id, events) =
                        session.start_background((&input.command).into(), Routing::Asked).await?;
                    (session, id, events)
                }
                Err(error) => return Err(error.into()),
            };
        if let Some(limit) = input.timeout {
            let session = session.clone();
            tokio::spawn(async move {
                let ended = session.wait_background(id);
                if tokio::time::timeout(Duration::from_millis(limit), ended).await.is_err() {
                    // One that is forgotten was killed.
                    let _ = session.kill_background(id, SIGTERM);
                }
            });
        }
        let runtime = session.runtime();
        let bare = events.iter().any(is_without_walls);
        let kind = if bare { "none" } else { runtime.provider().kind() };
        let warning = bare.then(|| no_walls(&runtime, Some(&session), input));
        let mut state = self.shared.state();
        state.commands += 1;
        let name = state.tasks.add(&input.command, session, id);
        let mut result = ToolResult::in_background(name, kind);
        result.notices.extend(warning);
        result.notices.extend(events.iter().filter_map(notice));
        Ok(result)
    }

    /// What a command in the background printed from a piece on: begin with 0, go on with `next_seq`.
    pub fn poll(&self, id: &str, from_seq: u64) -> Result<BackgroundOutput, ManagerError> {
        Ok(self.find(id)?.output(from_seq)?)
    }

    /// Waits for the end of a command in the background, and gives all of its output that is kept.
    pub async fn wait(&self, id: &str) -> Result<BackgroundOutput, ManagerError> {
        match self.find(id)? {
            Place::Session(session, background) => {
                let output = session.wait_background(background).await;
                // Its sandbox may have ended meanwhile, and left the output here.
                output.or_else(|error| self.find(id)?.output(0).map_err(|_| error.into()))
            }
            place @ Place::Here(_) => Ok(place.output(0)?),
        }
    }

    /// Ends a command in the background: SIGTERM first, SIGKILL to what is left two seconds later.
    pub fn kill(&self, id: &str) -> Result<(), ManagerError> {
        match self.find(id)? {
            Place::Session(session, background) => Ok(session.kill_background(background, SIGTERM)?),
            Place::Here(_) => Ok(()),
        }
    }

    /// The commands in the background, those that ended included.
    pub fn background(&self) -> Vec<BackgroundInfo> {
        self.shared.state().tasks.list()
    }

    /// The sandboxes: the one in use, and older ones in which commands still run.
    pub fn list(&self) -> Vec<SandboxInfo> {
        let state = self.shared.state();
        let info = |session: &Session| {
            let stands = session.enforcement().is_some();
            let status = if stands { SandboxStatus::Running } else { SandboxStatus::Stopped };
            SandboxInfo { id: session.id().to_owned(), status }
        };
        state.session.iter().chain(&state.retired).map(info).collect()
    }

    /// How it stands, without waiting for anything.
    pub fn status(&self) -> ManagerStatus {
        let warning = self.warning();
        let state = self.shared.state();
        let running = |task: &BackgroundInfo| task.state == BackgroundState::Running;
        ManagerStatus {
            state: match (&state.session, &warning) {
                _ if state.closed => ManagerState::ShutDown,
                (_, Some(_)) => ManagerState::Bare,
                (Some(_), None) => ManagerState::Running,
                (None, None) => ManagerState::NotCreated,
            },
            cwd: state.session.as_ref().map(Session::cwd),
            commands: state.commands,
            background: state.tasks.list().into_iter().filter(running).count(),
            grants: state.allowed.len(),
            warning,
        }
    }

    /// Ends everything that runs in its sandboxes and removes what is left of them. A call that runs hears
    /// its end; later ones are errors.
    pub async fn shutdown(&self) {
        let sessions: Vec<Session> = {
            let mut state = self.shared.state();
            state.closed = true;
            let session = state.session.take();
            let sessions: Vec<Session> =
                session.into_iter().chain(std::mem::take(&mut state.retired)).collect();
            sessions.iter().for_each(|session| state.tasks.settle(session));
            sessions
        };
        for session in sessions {
            session.close().await;
        }
    }

    /// What a person has to be shown where the settings switch the walls off.
    fn warning(&self) -> Option<String> {
        let (runtime, nothing) = (self.shared.known_runtime()?, ToolInput::new(":"));
        let (_, decision) = runtime.judge(&request(&runtime, None, &nothing)).ok()?;
        (decision.verdict == Verdict::Unsandboxed).then(|| no_walls(&runtime, None, &nothing))
    }

    /// A session that closed itself is replaced, unless this was wanted.
    fn forget(&self, session: &Session) -> Result<(), ManagerError> {
        if self.shared.state().closed {
            return Err(ManagerError::ShutDown);
        }
        self.shared.part_with(session);
        self.shared.state().untold.push(EXPIRED.to_owned());
        Ok(())
    }

    fn find(&self, id: &str) -> Result<Place, ManagerError> {
        let found = self.shared.state().tasks.find(id);
        found.ok_or_else(|| ManagerError::UnknownCommand { id: id.to_owned() })
    }
}

/// The result of a call that the program runs itself.
async fn taken(work: BoxFuture<'static, Taken>) -> ToolResult {
    let begun = Instant::now();
    let done = captured(work.await, begun);
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    ToolResult::ended(&done.stdout, stderr, &done.outcome)
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Manager").field("status", &self.status()).finish_non_exhaustive()
    }
}
