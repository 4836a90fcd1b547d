//! The turn of a listed command that runs without walls.
//!
//! Nothing behind walls may be at work beside it: what was looked at before it starts could be something else when
//! it is read. It has its turn like commands in the shell, no program is started beside the shell meanwhile, and the
//! shell itself is kept still: a command may have left something in it that acts by itself. A stop by signal would not
//! do, because the shell can have the kernel send it the signal to go on.

use super::error::SessionError;
use super::handle::{Inner, Session};
use super::house::Lasting;
use super::processes::{Process, is_kept_still};
use super::seat::Seat;
use super::walls::Walls;
use crate::routing::Others;
use crate::runtime::{Prepared, Runtime};
use crate::shifts::{Shift, roots};
use rustix::process::Pid;
use std::sync::Arc;
use std::time::Duration;
use stockade_isolate::{Company, Stillness, keep_still};
use stockade_policy::{AtWork, Decision, Policy, Request, Verdict, Worker};
use tokio::sync::{OwnedMutexGuard, OwnedRwLockWriteGuard};

/// How often it is looked whether nobody is left: who has just ended may not have been waited for.
const LOOKS: usize = 4;
const PAUSE: Duration = Duration::from_millis(3);
/// How long a shell has to stop. One that waits for orders does at once.
const PATIENCE: usize = 100;

/// Keeps everything else of the session waiting. What it holds is given back in this order.
#[derive(Debug)]
pub(crate) struct Turn {
    _still: Option<Still>,
    _gate: OwnedRwLockWriteGuard<()>,
    _seat: OwnedMutexGuard<Seat>,
}

/// How a listed command goes on.
pub(super) enum Course {
    /// Without walls.
    Bare(Box<Prepared>, Turn),
    /// Behind walls, where the seat is taken.
    Walled(Arc<Policy>, Request, OwnedMutexGuard<Seat>),
}

/// A shell that does nothing as long as this lives.
#[derive(Debug)]
struct Still {
    _traced: Stillness,
    /// It keeps its number meanwhile.
    _shell: Process,
}

impl Still {
    async fn make(shell: Pid) -> Option<Self> {
        let process = Process::hold(shell)?;
        let still = Self { _traced: keep_still(shell).ok()?, _shell: process };
        for _ in 0..PATIENCE {
            if is_kept_still(shell) {
                return Some(still);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        None
    }
}

impl Inner {
    /// Has everything else of the session wait, and judges a listed command again. The request is made when it is
    /// its turn: commands before it may have gone elsewhere.
    pub(super) async fn take_turn(
        &self,
        seat: OwnedMutexGuard<Seat>,
        request: impl FnOnce() -> Result<(Arc<Runtime>, Request), SessionError>,
    ) -> Result<Course, SessionError> {
        let gate = Arc::clone(&self.gate).write_owned().await;
        let (runtime, request) = request()?;
        let walls = self.common().walls.clone().filter(|walls| walls.stand());
        let (company, still) = match &walls {
            Some(walls) => quiet(walls, seat.shell.as_ref().map(|shell| shell.pid)).await,
            None => (Company::Nobody, None),
        };
        let walls = walls.as_deref();
        let others = match company {
            Company::Nobody => Others::but(own(walls)),
            Company::Somebody | Company::Unknown => beside(Worker::Session, walls, &request),
        };
        let (policy, decision) = runtime.judge_beside(&request, &others)?;
        if decision.verdict != Verdict::Unsandboxed {
            return Ok(Course::Walled(policy, request, seat));
        }
        let prepared = runtime.prepare_judged(request, (policy, decision))?;
        Ok(Course::Bare(Box::new(prepared), Turn { _still: still, _gate: gate, _seat: seat }))
    }

    /// Judges a listed command that has no turn: others of the session are at work, or will be.
    pub(super) fn judge_going_on(
        &self,
        runtime: &Runtime,
        request: &Request,
        who: Worker,
    ) -> Result<(Arc<Policy>, Decision), SessionError> {
        let walls = self.common().walls.clone();
        Ok(runtime.judge_beside(request, &beside(who, walls.as_deref(), request))?)
    }

    /// Whether something besides the shell is at work, as far as that can be seen while nobody is stopped.
    fn is_at_work(&self, walls: &Walls) -> bool {
        let Ok(seat) = self.seat.try_lock() else { return true };
        let shell = seat.shell.as_ref().and_then(|shell| number(shell.pid));
        walls.sandbox.company(shell) != Company::Nobody
    }
}

impl Session {
    /// Waits until no command runs without walls.
    pub(crate) async fn until_nobody_is_without_walls(&self) {
        drop(self.inner.gate.read().await);
    }

    /// What would become of a command of this session now, part by part.
    pub(crate) fn check(&self, runtime: &Runtime, request: &Request, lasting: Lasting) -> Decision {
        let walls = self.inner.common().walls.clone().filter(|walls| walls.stand());
        let walls = walls.as_deref();
        let others = match lasting {
            Lasting::InBackground => beside(Worker::Later, walls, request),
            Lasting::ForTheCaller if walls.is_some_and(|walls| self.inner.is_at_work(walls)) => {
                beside(Worker::Session, walls, request)
            }
            Lasting::ForTheCaller => Others::but(own(walls)),
        };
        runtime.check_beside(request, &others)
    }
}

fn own(walls: Option<&Walls>) -> Option<&Shift> {
    walls.and_then(|walls| walls.shift.as_ref())
}

/// Others of the session, wherever its commands may write. Where there is no sandbox yet, one may be made.
fn beside<'a>(who: Worker, walls: Option<&'a Walls>, request: &Request) -> Others<'a> {
    let roots = walls.map_or_else(|| vec![request.cwd.clone()], |walls| roots(&walls.plan));
    let inside = roots.into_iter().map(|root| AtWork { who, root }).collect();
    Others::But { own: own(walls), inside }
}

fn number(process: Pid) -> Option<u32> {
    u32::try_from(process.as_raw_nonzero().get()).ok()
}

/// Whether nothing but the shell lives inside, which is stopped then.
async fn quiet(walls: &Walls, shell: Option<Pid>) -> (Company, Option<Still>) {
    let known = shell.and_then(number);
    let mut company = Company::Unknown;
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let still = match shell {
            Some(shell) => Still::make(shell).await,
            None => None,
        };
        // One that does not stop may be at work itself. One that is gone has left its children behind.
        let is_settled = still.is_some() || shell.is_none_or(|shell| Process::hold(shell).is_none());
        company = walls.sandbox.company(known);
        match company {
            Company::Nobody if is_settled => return (Company::Nobody, still),
            Company::Nobody => company = Company::Unknown,
            Company::Somebody | Company::Unknown => {}
        }
    }
    (company, None)
}
