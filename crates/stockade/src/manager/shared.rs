//! What all handles of a manager share, and how its sandbox comes, goes and comes again.

use super::allowed::{Allowed, Opening, acts};
use super::carried::Carried;
use super::error::ManagerError;
use super::pending::Waiting;
use super::tasks::Tasks;
use crate::grants::Given;
use crate::{Builder, GrantStore, Runtime, Session, SessionOptions};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stockade_policy::{Reply, ViolationKind};

/// Told after a sandbox was replaced.
const REPLACED: &str = "the sandbox was built anew under the new rules: working directory and exported variables \
                        are kept; functions, other variables and the private /tmp are gone";
/// The same, where commands went on in the old one.
const RETIRED: &str = "background commands go on in the old sandbox, behind the old rules";

/// A manager without its handle.
pub(super) struct Shared {
    /// As it was given.
    pub(super) builder: Builder,
    pub(super) options: SessionOptions,
    /// Whoever runs a command in the foreground holds this, and whoever changes the sandbox.
    pub(super) turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

/// What is looked at without waiting for the command that runs.
#[derive(Default)]
pub(super) struct State {
    runtime: Option<Arc<Runtime>>,
    pub(super) session: Option<Session>,
    /// Those that were replaced while commands ran in their background.
    pub(super) retired: Vec<Session>,
    pub(super) allowed: Vec<Allowed>,
    pub(super) waiting: Waiting,
    pub(super) tasks: Tasks,
    /// Requests that were made.
    pub(super) requests: u64,
    /// Commands that were given to a sandbox.
    pub(super) commands: u64,
    pub(super) closed: bool,
    /// Names that may be made and were not there when the policy was.
    absent: Vec<PathBuf>,
    /// What the next result tells.
    pub(super) untold: Vec<String>,
}

impl Shared {
    pub(super) fn new(builder: Builder, options: SessionOptions, allowed: Vec<Allowed>) -> Self {
        let state = State { allowed, ..State::default() };
        Self { builder, options, turn: tokio::sync::Mutex::default(), state: Mutex::new(state) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Fields are replaced whole, whatever became of who held the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The policy in force, read when it is needed for the first time.
    pub(super) fn runtime(&self) -> Result<Arc<Runtime>, ManagerError> {
        let mut state = self.state();
        if state.closed {
            return Err(ManagerError::ShutDown);
        }
        match &state.runtime {
            Some(runtime) => Ok(Arc::clone(runtime)),
            None => state.begin(&self.builder),
        }
    }

    /// The policy, where it has been read.
    pub(super) fn known_runtime(&self) -> Option<Arc<Runtime>> {
        self.state().runtime.clone()
    }

    /// Makes the policy anew from everything that is allowed now. A failure leaves the one from before.
    pub(super) fn renew(&self) -> Result<Arc<Runtime>, ManagerError> {
        let grants = self.runtime()?.grants().clone();
        let mut state = self.state();
        let runtime = Arc::new(equipped(&self.builder, &grants, &state.allowed, &[]).build()?);
        state.hold(&runtime);
        Ok(runtime)
    }

    /// A policy that opens something more.
    pub(super) fn opening(&self, once: &[Given]) -> Result<Arc<Runtime>, ManagerError> {
        let grants = self.runtime()?.grants().clone();
        let allowed = self.state().allowed.clone();
        Ok(Arc::new(equipped(&self.builder, &grants, &allowed, once).build()?))
    }

    /// The session, opened when it is needed for the first time and moved when the policy has changed. Whoever
    /// calls holds the turn.
    pub(super) async fn session(&self) -> Result<Session, ManagerError> {
        let mut runtime = self.runtime()?;
        let (session, made) = {
            let state = self.state();
            (state.session.clone(), state.absent.iter().any(|path| path.is_dir()))
        };
        // Who was allowed to make a directory wants to use it.
        if made {
            runtime = self.renew()?;
        }
        match session {
            None => self.open(runtime, self.options.clone()).await,
            Some(session) if Arc::ptr_eq(&session.runtime(), &runtime) => Ok(session),
            Some(session) => self.follow(session, runtime).await,
        }
    }

    /// The session, where nothing has to be done to use it.
    pub(super) fn standing(&self) -> Option<Session> {
        let state = self.state();
        let (session, runtime) = (state.session.as_ref()?, state.runtime.as_ref()?);
        (!state.closed && Arc::ptr_eq(&session.runtime(), runtime)).then(|| session.clone())
    }

    /// Lets go of a session that closed itself, so that the next command opens another.
    pub(super) fn part_with(&self, session: &Session) {
        let mut state = self.state();
        if state.session.as_ref().is_some_and(|known| known.id() == session.id()) {
            state.tasks.settle(session);
            state.session = None;
        }
    }

    async fn open(&self, runtime: Arc<Runtime>, options: SessionOptions) -> Result<Session, ManagerError> {
        let session = Session::open(runtime, options).await?;
        let closed = {
            let mut state = self.state();
            if !state.closed {
                state.session = Some(session.clone());
            }
            state.closed
        };
        if closed {
            session.close().await;
            return Err(ManagerError::ShutDown);
        }
        Ok(session)
    }

    async fn follow(&self, session: Session, runtime: Arc<Runtime>) -> Result<Session, ManagerError> {
        if !self.state().tasks.run_in(&session) {
            session.rebuild(runtime).await?;
            self.state().untold.push(REPLACED.to_owned());
            return Ok(session);
        }
        let options = Carried::from(&session).await?.options(&self.options);
        let next = self.open(runtime, options).await?;
        let mut state = self.state();
        state.retired.push(session);
        state.untold.extend([REPLACED.to_owned(), RETIRED.to_owned()]);
        Ok(next)
    }

    /// Ends replaced sandboxes in which nothing runs any more.
    pub(super) async fn sweep(&self) {
        let over: Vec<Session> = {
            let mut state = self.state();
            let State { retired, tasks, .. } = &mut *state;
            let (busy, over) = std::mem::take(retired).into_iter().partition(|session| tasks.run_in(session));
            *retired = busy;
            let over: Vec<Session> = over;
            over.iter().for_each(|session| tasks.settle(session));
            over
        };
        for session in over {
            session.close().await;
        }
    }
}

impl State {
    fn begin(&mut self, builder: &Builder) -> Result<Arc<Runtime>, ManagerError> {
        let mut runtime = builder.clone().build()?;
        if !self.allowed.is_empty() {
            let grants = runtime.grants().clone();
            for allowed in &mut self.allowed {
                allowed.ids = give(&grants, &allowed.given, Reply::Session)?;
            }
            runtime = equipped(builder, &grants, &self.allowed, &[]).build()?;
        }
        let runtime = Arc::new(runtime);
        self.hold(&runtime);
        Ok(runtime)
    }

    fn hold(&mut self, runtime: &Arc<Runtime>) {
        let makes = self.allowed.iter().filter(|allowed| allowed.given.kind == ViolationKind::Create);
        let names = makes.map(|allowed| PathBuf::from(&allowed.given.subject));
        self.absent = names.filter(|path| !path.exists()).collect();
        self.runtime = Some(Arc::clone(runtime));
    }
}

/// Gives a permission and all that it means; the first name is the permission's own.
pub(super) fn give(grants: &GrantStore, given: &Given, reply: Reply) -> Result<Vec<String>, ManagerError> {
    let mut ids = Vec::new();
    for kind in acts(given.kind) {
        let given = Given { kind, ..given.clone() };
        ids.extend(grants.give(&given, reply)?.map(|grant| grant.id));
    }
    Ok(ids)
}

fn equipped(builder: &Builder, grants: &GrantStore, allowed: &[Allowed], once: &[Given]) -> Builder {
    let once_only = once.iter().map(|given| Allowed { given: given.clone(), ids: Vec::new() });
    let all: Vec<Allowed> = allowed.iter().cloned().chain(once_only).collect();
    let builder = builder.clone().grants(grants.clone());
    let builder = builder.granted(all.iter().filter_map(Allowed::rule));
    if all.iter().any(Allowed::needs_answers) {
        builder.asked_first(|then| Arc::new(Opening::new(once, then)))
    } else {
        builder
    }
}
