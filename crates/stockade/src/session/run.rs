//! One command of a session, as its caller holds it.

use super::SessionError;
use super::apart::{Apart, Taking};
use super::handle::Session;
use super::live::{Live, Parts};
use super::options::{Routing, SessionCommand, SessionInput};
use super::told::without_walls;
use super::turn::Course;
use crate::routing::Others;
use crate::runtime::time_limit;
use crate::wiring::Wiring;
use crate::{Routed, Taken};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use stockade_isolate::{BoxFuture, Stdio};
use stockade_policy::{CommandLine, Event, Outcome, Request, Verdict};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

/// A command that a session's shell runs. Dropping it ends the command.
#[derive(Debug)]
pub struct SessionRun {
    source: Source,
    cancels: mpsc::UnboundedSender<i32>,
}

#[derive(Debug)]
enum Source {
    /// In the shell.
    Shell(Option<Box<Live>>),
    /// Outside of the walls, as the policy decided, or in the embedder's hands.
    Apart(Apart, mpsc::UnboundedReceiver<i32>),
}

/// Ends a command from elsewhere.
#[derive(Clone, Debug)]
pub struct Canceller(mpsc::UnboundedSender<i32>);

impl Canceller {
    /// Ends the command: this signal first, SIGKILL to what is left of it two seconds later.
    ///
    /// Nothing of the command's text is run after that. The shell and what other commands left running go on. A
    /// shell that cannot be brought to leave out the rest of the text is ended, too, and started anew.
    pub fn cancel(&self, signal: i32) {
        // A command that is over needs no signal.
        let _ = self.0.send(signal);
    }
}

impl SessionRun {
    /// Gives a command to the shell, or to nobody where it needs none.
    pub(super) async fn start(session: &Session, command: SessionCommand) -> Result<Self, SessionError> {
        if command.text.as_bytes().contains(&0) {
            return Err(SessionError::Nul);
        }
        let (cancels, cancelled) = mpsc::unbounded_channel();
        if let Some(work) = session.taken(&command.text, command.routing)? {
            let taking = Apart::Taken(Taking::begin(work, command.time_limit));
            return Ok(Self { source: Source::Apart(taking, cancelled), cancels });
        }
        let asked = || {
            let (runtime, request) = session.inner.request(CommandLine::Shell(command.text.clone()))?;
            Ok((runtime, Request { bare: command.bare, consent: command.consent, ..request }))
        };
        let (runtime, mut request) = asked()?;
        let judged = runtime.judge_beside(&request, &Others::Nobody);
        if !judged.as_ref().is_ok_and(|(_, decision)| decision.verdict == Verdict::Sandbox) {
            session.inner.leave_old_walls().await;
        }
        let (mut policy, decision) = judged?;
        let known = session.inner.known();
        let mut seat = None;
        let mut bare = None;
        if decision.verdict == Verdict::Unsandboxed && policy.walls_unless_listed(&request) {
            let free = Arc::clone(&session.inner.seat).lock_owned().await;
            match session.inner.take_turn(free, asked).await? {
                Course::Bare(prepared, turn) => bare = Some((*prepared, Some(turn))),
                Course::Walled(now, placed, taken) => (policy, request, seat) = (now, placed, Some(taken)),
            }
        } else if decision.verdict == Verdict::Unsandboxed {
            bare = Some((runtime.prepare_judged(request.clone(), (Arc::clone(&policy), decision))?, None));
        }
        if let Some((mut prepared, turn)) = bare {
            let mut wiring = Wiring::captured();
            if command.input == SessionInput::Piped {
                wiring.stdio[0] = Stdio::Piped;
            }
            let limits = &mut Arc::make_mut(&mut prepared.plan).limits;
            let time = command.time_limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
            limits.max_execution_time = least(limits.max_execution_time, time);
            limits.max_output = least(limits.max_output, command.output_limit);
            let mut told = without_walls(&prepared.decision);
            let mut running = runtime.start(prepared, wiring).await?;
            if let Some(turn) = turn {
                running = running.holding(turn);
            }
            told.extend(session.inner.news());
            return Ok(Self { source: Source::Apart(Apart::process(running, told), cancelled), cancels });
        }
        let mut seat = match seat {
            Some(taken) => taken,
            None => Arc::clone(&session.inner.seat).lock_owned().await,
        };
        let (walls, mut told) = session.inner.ensure(&mut seat, &policy).await?;
        let mut recorder = runtime.keeper().recorder();
        if let Err(error) = recorder.start_under(&request, &walls.plan, &walls.digest) {
            session.inner.owe(told);
            return Err(crate::StartError::from(error).into());
        }
        session.inner.catch_up(known, &mut told);
        let CommandLine::Shell(text) = request.command else { return Err(SessionError::Closed) };
        let parts = Parts {
            inner: Arc::clone(&session.inner),
            output_limit: least(walls.plan.limits.max_output, command.output_limit),
            time_limit: least(time_limit(&walls.plan), command.time_limit),
            walls,
            seat,
            recorder,
            text,
            told,
            cancelled,
        };
        let live = Live::begin(parts, command.input)?;
        Ok(Self { source: Source::Shell(Some(Box::new(live))), cancels })
    }

    /// What the run is known by in its events, in the store of refusals and in the audit log.
    pub fn id(&self) -> &str {
        match &self.source {
            Source::Shell(Some(live)) => live.id(),
            Source::Shell(None) => "",
            Source::Apart(command, _) => command.id(),
        }
    }

    /// The next event; `None` after [`Event::Exited`].
    ///
    /// May be dropped and called again at any point without losing anything.
    pub async fn next(&mut self) -> Option<Event> {
        match &mut self.source {
            Source::Shell(live) => {
                let event = live.as_mut()?.next().await;
                // The next command may begin.
                if matches!(event, None | Some(Event::Exited(_))) {
                    *live = None;
                }
                event
            }
            Source::Apart(command, cancelled) => loop {
                tokio::select! {
                    event = command.next() => return event,
                    Some(signal) = cancelled.recv() => command.cancel(signal),
                }
            },
        }
    }

    /// The writing end of a piped standard input; dropping it is end of file.
    pub fn stdin(&mut self) -> Option<pipe::Sender> {
        match &mut self.source {
            Source::Shell(live) => live.as_mut()?.stdin(),
            Source::Apart(command, _) => command.stdin(),
        }
    }

    /// Ends the command: see [`Canceller::cancel`].
    pub fn cancel(&self, signal: i32) {
        self.canceller().cancel(signal);
    }

    /// A way to end it while somebody else waits for its events.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.cancels.clone())
    }

    /// Drops the output and waits for the end. `None` only if everything went away without a word.
    pub async fn wait(mut self) -> Option<Outcome> {
        drop(self.stdin());
        while let Some(event) = self.next().await {
            if let Event::Exited(outcome) = event {
                return Some(*outcome);
            }
        }
        None
    }
}

impl Session {
    /// The embedder's work, where its router takes the text.
    pub(super) fn taken(
        &self,
        text: &OsStr,
        routing: Routing,
    ) -> Result<Option<BoxFuture<'static, Taken>>, SessionError> {
        let (runtime, request) = self.inner.request(CommandLine::Shell(text.to_owned()))?;
        Ok(match routing {
            Routing::Asked => None,
            Routing::Ask => match runtime.route(&request) {
                Routed::Taken(work) => Some(work),
                Routed::Native => None,
            },
        })
    }
}

impl Drop for SessionRun {
    fn drop(&mut self) {
        const SIGKILL: i32 = 9;
        let Source::Shell(live) = &mut self.source else { return };
        let (Some(mut live), Ok(runtime)) = (live.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        self.cancel(SIGKILL);
        // The seat is free again when nothing of the command is left. That the shell is another one then is told
        // to whoever comes next.
        runtime.spawn(async move {
            while let Some(event) = live.next().await {
                live.inner.owe([event]);
            }
        });
    }
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}
