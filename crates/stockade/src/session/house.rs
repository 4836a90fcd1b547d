//! Building what a session lives in, and building it again.

use super::error::SessionError;
use super::handle::{Common, Inner, Session};
use super::memory;
use super::post::Post;
use super::seat::Seat;
use super::state::Kept;
use super::told::without_walls;
use super::turn::{Course, Turn};
use super::walls::{Standing, Walls};
use crate::asking::Waiting;
use crate::connect::{Connected, connect};
use crate::records::Recorder;
use crate::routing::Others;
use crate::running::{Copying, Running};
use crate::runtime::{Prepared, Runtime, not_started, time_limit};
use crate::shell::argv;
use crate::wiring::Wiring;
use crate::{RealFiles, StartError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade_isolate::{Afterwards, Command, ExecError};
use stockade_policy::{CommandLine, Event, Policy, Request, Verdict, Worker};
use tokio::sync::OwnedMutexGuard;

const DIRECTORY: &str = "working directory";
const EXPORTS: &str = "exported variables";
/// What no shell hands on to the next one.
const SHELL_ONLY: [&str; 4] = ["functions", "variables that are not exported", "shell options", "traps"];
const PROCESSES: &str = "processes in the sandbox";
const NEW_SETTINGS: &str = "the settings have changed";

impl Common {
    /// The request, for where the shell is.
    pub(super) fn placed(&self, mut request: Request) -> Request {
        request.chosen_by = self.post.chooser(&request.cwd);
        if let Some(cwd) = &self.kept.cwd {
            request.cwd.clone_from(cwd);
        }
        request
    }
}

impl Inner {
    /// A request of the session's runtime for a command where the shell is. A session that is closed has none.
    pub(super) fn request(&self, command: CommandLine) -> Result<(Arc<Runtime>, Request), SessionError> {
        let mut common = self.common();
        if common.closed {
            return Err(SessionError::Closed);
        }
        common.used = Instant::now();
        let request = common.placed(common.runtime.request(command));
        Ok((Arc::clone(&common.runtime), request))
    }

    /// Makes sure that there is a shell under this policy. What had to be started anew is told.
    pub(super) async fn ensure(
        &self,
        seat: &mut Seat,
        policy: &Arc<Policy>,
    ) -> Result<(Arc<Walls>, Vec<Event>), SessionError> {
        let (walls, runtime, kept) = {
            let mut common = self.common();
            if common.closed {
                return Err(SessionError::Closed);
            }
            common.used = Instant::now();
            (common.walls.clone(), Arc::clone(&common.runtime), common.kept.clone())
        };
        let mut untold = seat.untold.take();
        if seat
            .shell
            .as_ref()
            .is_some_and(|shell| shell.tender.ended().is_some() || shell.channel.is_closed())
        {
            seat.shell = None;
            untold.get_or_insert_with(|| "the shell was ended between two commands".into());
        }
        if let Some(walls) = &walls
            && walls.stand()
        {
            if Arc::ptr_eq(&walls.policy, policy) {
                if seat.shell.is_some() {
                    return Ok((Arc::clone(walls), Vec::new()));
                }
                let (shell, standing) = walls.start(&kept).await?;
                self.common().post = Post::of(shell.pid);
                seat.shell = Some(shell);
                return Ok((Arc::clone(walls), self.tell_restart(untold, &kept, standing, false)));
            }
            untold = Some(NEW_SETTINGS.into());
        } else if walls.is_some() {
            untold = Some("the sandbox was ended from outside or ran out of memory".into());
        }
        self.remember(seat).await;
        (seat.shell, seat.untold) = (None, None);
        if let Some(walls) = walls {
            self.let_fall(&walls).await;
        }
        let kept = self.common().kept.clone();
        let (walls, shell, standing) = Walls::build(runtime, policy, &kept, &self.id).await?;
        let walls = Arc::new(walls);
        {
            let mut common = self.common();
            common.post = Post::of(shell.pid);
            common.walls = Some(Arc::clone(&walls));
        }
        seat.shell = Some(shell);
        Ok((walls, self.tell_restart(untold, &kept, standing, true)))
    }

    /// Walls of settings that do not hold any more fall, for the sake of a command that builds no others: one
    /// that is refused or gets none. A command that runs in the shell is waited for, but not by the caller.
    pub(super) async fn leave_old_walls(self: &Arc<Self>) {
        if !self.has_old_walls() {
            return;
        }
        match Arc::clone(&self.seat).try_lock_owned() {
            Ok(mut seat) => self.leave(&mut seat).await,
            Err(_) => {
                let inner = Arc::clone(self);
                tokio::spawn(async move {
                    let mut seat = inner.seat.lock().await;
                    inner.leave(&mut seat).await;
                });
            }
        }
    }

    fn has_old_walls(&self) -> bool {
        let common = self.common();
        let now = common.runtime.reload().policy();
        common.walls.as_ref().is_some_and(|walls| !Arc::ptr_eq(&walls.policy, &now))
    }

    async fn leave(&self, seat: &mut Seat) {
        // Somebody may have built others while the seat was waited for.
        if !self.has_old_walls() {
            return;
        }
        self.remember(seat).await;
        (seat.shell, seat.untold) = (None, Some(NEW_SETTINGS.into()));
        let Some(walls) = self.common().walls.take() else { return };
        self.let_fall(&walls).await;
    }

    async fn let_fall(&self, walls: &Walls) {
        // What it has heard of the settings goes with it.
        self.owe(walls.news());
        walls.fall().await;
        self.common().kept.only_own(Some(&walls.plan));
    }

    /// What is said of a shell that was started anew, where there is a reason.
    fn tell_restart(
        &self,
        reason: Option<String>,
        kept: &Kept,
        standing: Standing,
        rebuilt: bool,
    ) -> Vec<Event> {
        let event = reason.map(|reason| restarted(reason, kept, standing, rebuilt));
        event.iter().for_each(|event| self.note_restart(event));
        event.into_iter().collect()
    }
}

/// What a shell that ended with its command will be followed by.
pub(super) fn will_restart(reason: String, kept: &Kept, sandbox_stands: bool) -> Event {
    restarted(reason, kept, Standing::There, !sandbox_stands)
}

fn restarted(reason: String, kept: &Kept, standing: Standing, rebuilt: bool) -> Event {
    let (mut has, mut lost) = (Vec::new(), Vec::new());
    let directory = standing == Standing::There && kept.cwd.is_some();
    if directory {
        has.push(DIRECTORY)
    } else {
        lost.push(DIRECTORY)
    }
    if kept.exports.is_some() {
        has.push(EXPORTS)
    } else {
        lost.push(EXPORTS)
    }
    lost.extend(SHELL_ONLY);
    if rebuilt {
        lost.push(PROCESSES);
    }
    let words = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect();
    Event::Restarted { reason, kept: words(has), lost: words(lost) }
}

impl Session {
    /// Builds the walls and starts the shell, unless the settings want no walls.
    pub(super) async fn settle_in(&self) -> Result<(), SessionError> {
        let runtime = self.runtime();
        let (policy, decision) = runtime.judge(&runtime.request(CommandLine::Shell(":".into())))?;
        if decision.verdict == Verdict::Unsandboxed {
            return Ok(());
        }
        let mut seat = self.inner.seat.lock().await;
        self.inner.ensure(&mut seat, &policy).await?;
        Ok(())
    }

    /// Builds everything anew under another runtime.
    pub(super) async fn move_house(&self, runtime: Arc<Runtime>) -> Result<(), SessionError> {
        let mut seat = self.inner.seat.lock().await;
        let (policy, _) = runtime.judge(&runtime.request(CommandLine::Shell(":".into())))?;
        self.inner.remember(&mut seat).await;
        seat.shell = None;
        // For those who wait; whoever wanted it knows.
        seat.untold = Some("the sandbox was built anew on request".into());
        let walls = {
            let mut common = self.inner.common();
            let walls = common.walls.take();
            common.kept.only_own(walls.as_deref().map(|walls| &*walls.plan));
            common.runtime = runtime;
            walls
        };
        if let Some(walls) = walls {
            walls.fall().await;
        }
        self.inner.ensure(&mut seat, &policy).await?;
        Ok(())
    }

    /// Starts a command beside the shell.
    pub(super) async fn beside(
        &self,
        command: CommandLine,
        wiring: Wiring,
        lasting: Lasting,
    ) -> Result<(Running, Vec<Event>), SessionError> {
        let begun = Instant::now();
        // What runs without walls is waited for.
        let mut gate = Some(self.inner.gate.read().await);
        let mut seat = Arc::clone(&self.inner.seat).try_lock_owned().ok();
        // The shell says what it exports while everything else is seen to.
        let question = seat.as_deref_mut().and_then(memory::ask);
        let mut judged = self.inner.judge(command.clone(), wiring, lasting);
        if let (Some(seat), Some(question)) = (seat.as_deref_mut(), question) {
            self.inner.listen(seat, question).await;
        }
        if let Ok((runtime, request, Step::Listed(wiring))) = judged {
            gate = None;
            judged = self.in_turn(command, runtime, request, wiring, seat.take()).await;
        }
        if gate.is_none() && matches!(judged, Ok((_, _, Step::Inside(_)))) {
            gate = Some(self.inner.gate.read().await);
        }
        drop(seat);
        if !matches!(judged, Ok((_, _, Step::Inside(_) | Step::Rebuild(..)))) {
            self.inner.leave_old_walls().await;
        }
        let (runtime, request, step) = judged?;
        let mut taken = None;
        let (mut told, admitted) = match step {
            Step::Listed(_) => return Err(SessionError::Closed),
            Step::Outside(prepared, wiring, turn) => {
                let mut told = without_walls(&prepared.decision);
                let mut running = runtime.start(*prepared, wiring).await?;
                if let Some(turn) = turn {
                    running = running.holding(turn);
                }
                told.extend(self.inner.news());
                return Ok((running, told));
            }
            Step::Inside(admitted) => (Vec::new(), *admitted),
            Step::Rebuild(policy, wiring) => {
                // Who waits at the gate may hold the seat; and who holds the seat needs no gate.
                drop(gate.take());
                let seat = taken.insert(self.inner.seat.lock().await);
                let (walls, told) = self.inner.ensure(seat, &policy).await?;
                (told, Admitted::under(walls, &runtime, &request, wiring)?)
            }
        };
        let Admitted { walls, mut connected, mut recorder } = admitted;
        let kept = self.inner.common().kept.clone();
        let command = Command {
            argv: argv(&request.command),
            cwd: kept.cwd.unwrap_or_else(|| walls.plan.workspace.clone()),
            environment: kept.exports.unwrap_or_default(),
            stdio: connected.take_stdio(),
            descriptors: std::mem::take(&mut connected.descriptors),
            time_limit: time_limit(&walls.plan),
            output_limit: walls.plan.limits.max_output,
            afterwards: Afterwards::Beside,
        };
        match walls.sandbox.exec(command).await {
            Ok(running) => {
                let waiting = Waiting::new(runtime.desk());
                let copying = Copying::begin(connected, time_limit(&walls.plan));
                let sandbox = Arc::clone(&walls.sandbox);
                told.extend(self.inner.news());
                Ok((Running::beside(running, sandbox, copying, waiting, recorder), told))
            }
            Err(ExecError::Program { source, .. }) => {
                let enforcement = walls.sandbox.enforcement().clone();
                let outcome = not_started(&source, runtime.provider().kind(), begun, enforcement);
                Ok((Running::over(outcome, recorder), told))
            }
            Err(error) => {
                recorder.failed();
                self.inner.owe(told);
                Err(error.into())
            }
        }
    }

    /// A listed command, where the seat is free for it.
    async fn in_turn(
        &self,
        command: CommandLine,
        runtime: Arc<Runtime>,
        request: Request,
        wiring: Wiring,
        seat: Option<OwnedMutexGuard<Seat>>,
    ) -> Result<Judged, SessionError> {
        let inner = &self.inner;
        // It was to run beside the shell: it does not wait for what runs there.
        let Some(seat) = seat else {
            return inner.beside_others(runtime, request, wiring, Worker::Session);
        };
        match inner.take_turn(seat, || inner.request(command)).await? {
            Course::Bare(prepared, turn) => {
                let request = prepared.request.clone();
                Ok((runtime, request, Step::Outside(prepared, wiring, Some(turn))))
            }
            Course::Walled(policy, request, _) => inner.behind_walls(runtime, request, policy, wiring),
        }
    }

    /// Closes the session when nobody has used it for as long as it may be idle.
    pub(super) fn expire(&self) {
        let Some(limit) = self.inner.options.idle else { return };
        let inner = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            loop {
                let Some(inner) = inner.upgrade() else { return };
                let session = Session { inner };
                let (idle, closed) = {
                    let common = session.inner.common();
                    (common.used.elapsed(), common.closed)
                };
                if closed {
                    return;
                }
                // A seat that is taken, and a background command, are use.
                let in_use = session.inner.seat.try_lock().is_err() || session.is_busy();
                if in_use {
                    session.inner.common().used = Instant::now();
                } else if idle >= limit {
                    return session.close().await;
                }
                drop(session);
                const SHORTEST: Duration = Duration::from_millis(10);
                tokio::time::sleep(limit.saturating_sub(idle).max(SHORTEST)).await;
            }
        });
    }
}

/// How long a command beside the shell may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// Somebody waits for it, and others can wait, too.
    ForTheCaller,
    /// As long as it wants, while others run.
    InBackground,
}

/// How a command beside the shell goes on.
enum Step {
    /// Without walls, if it can have a turn.
    Listed(Wiring),
    /// Without walls.
    Outside(Box<Prepared>, Wiring, Option<Turn>),
    Inside(Box<Admitted>),
    /// There are no walls that fit.
    Rebuild(Arc<Policy>, Wiring),
}

/// A request, the runtime it is for, and how it goes on.
type Judged = (Arc<Runtime>, Request, Step);

/// A command that is on record and may start inside.
struct Admitted {
    walls: Arc<Walls>,
    connected: Connected,
    recorder: Recorder,
}

impl Admitted {
    fn under(
        walls: Arc<Walls>,
        runtime: &Runtime,
        request: &Request,
        wiring: Wiring,
    ) -> Result<Self, SessionError> {
        let connected = connect(wiring, &walls.plan, &RealFiles).map_err(StartError::from)?;
        let mut recorder = runtime.keeper().recorder();
        recorder.start_under(request, &walls.plan, &walls.digest).map_err(StartError::from)?;
        Ok(Self { walls, connected, recorder })
    }
}

impl Inner {
    /// What can be done for a command beside the shell without waiting for anybody.
    fn judge(&self, command: CommandLine, wiring: Wiring, lasting: Lasting) -> Result<Judged, SessionError> {
        let (runtime, request) = self.request(command)?;
        let (policy, decision) = runtime.judge_beside(&request, &Others::Nobody)?;
        if decision.verdict != Verdict::Unsandboxed {
            return self.behind_walls(runtime, request, policy, wiring);
        }
        if !policy.walls_unless_listed(&request) {
            let prepared = runtime.prepare_judged(request.clone(), (policy, decision))?;
            return Ok((runtime, request, Step::Outside(Box::new(prepared), wiring, None)));
        }
        match lasting {
            Lasting::ForTheCaller => Ok((runtime, request, Step::Listed(wiring))),
            Lasting::InBackground => self.beside_others(runtime, request, wiring, Worker::Later),
        }
    }

    /// A listed command beside others of the session: behind walls, where those could change what it reads.
    fn beside_others(
        &self,
        runtime: Arc<Runtime>,
        request: Request,
        wiring: Wiring,
        who: Worker,
    ) -> Result<Judged, SessionError> {
        let (policy, decision) = self.judge_going_on(&runtime, &request, who)?;
        if decision.verdict == Verdict::Unsandboxed {
            let prepared = runtime.prepare_judged(request.clone(), (policy, decision))?;
            return Ok((runtime, request, Step::Outside(Box::new(prepared), wiring, None)));
        }
        self.behind_walls(runtime, request, policy, wiring)
    }

    fn behind_walls(
        &self,
        runtime: Arc<Runtime>,
        request: Request,
        policy: Arc<Policy>,
        wiring: Wiring,
    ) -> Result<Judged, SessionError> {
        let step = match self.standing(&policy)? {
            Some(walls) => Step::Inside(Box::new(Admitted::under(walls, &runtime, &request, wiring)?)),
            None => Step::Rebuild(policy, wiring),
        };
        Ok((runtime, request, step))
    }

    /// The walls, where they stand under this policy.
    fn standing(&self, policy: &Arc<Policy>) -> Result<Option<Arc<Walls>>, SessionError> {
        let mut common = self.common();
        if common.closed {
            return Err(SessionError::Closed);
        }
        common.used = Instant::now();
        let fits = |walls: &&Arc<Walls>| walls.stand() && Arc::ptr_eq(&walls.policy, policy);
        Ok(common.walls.as_ref().filter(fits).cloned())
    }
}
