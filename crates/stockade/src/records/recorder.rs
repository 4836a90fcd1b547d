//! The records of one run.

use super::journal::Noted;
use super::keeper::Keeper;
use super::{RecordFault, name};
use crate::shell::argv;
use crate::{AuditError, AuditEvent, policy_digest};
use std::sync::Arc;
use std::time::Instant;
use stockade_policy::{CommandLine, Decision, Event, Exit, Outcome, Plan, Request, Violation};
use tokio::task::JoinHandle;

/// What is left when a run is dropped in the middle.
const SIGKILL: i32 = 9;

/// Follows one run. Dropped before the end, it records that.
#[derive(Debug)]
pub(crate) struct Recorder {
    keeper: Arc<Keeper>,
    name: String,
    begun: Instant,
    stage: Stage,
    /// What was refused so far, should the end never come.
    seen: Vec<Violation>,
    /// A line could not be written; another refusal will not fare better.
    silent: bool,
}

#[derive(Debug)]
enum Stage {
    /// Nothing has happened that must be on record.
    Quiet,
    Begun,
    /// The end is on record, and the store may be being written.
    Over(Option<JoinHandle<()>>),
}

impl Recorder {
    pub(super) fn new(keeper: Arc<Keeper>) -> Self {
        let (stage, seen) = (Stage::Quiet, Vec::new());
        Self { keeper, name: name::new(), begun: Instant::now(), stage, seen, silent: false }
    }

    /// What the run is known by.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A command is about to start behind walls. An error means that it must not.
    pub(crate) fn start(&mut self, request: &Request, plan: &Plan) -> Result<(), AuditError> {
        self.begin(|name| start(name, request, plan, policy_digest(plan)))
    }

    /// The same for one of many commands under a plan, whose digest is known.
    pub(crate) fn start_under(
        &mut self,
        request: &Request,
        plan: &Plan,
        digest: &str,
    ) -> Result<(), AuditError> {
        self.begin(|name| start(name, request, plan, digest.to_owned()))
    }

    /// A command is about to start without walls. An error means that it must not.
    pub(crate) fn start_bare(&mut self, request: &Request, decision: &Decision) -> Result<(), AuditError> {
        let rule = decision.rule.as_ref().map(|rule| format!(": {rule}")).unwrap_or_default();
        self.begin(|name| AuditEvent::BareRun {
            sandbox: name.to_owned(),
            command: text(&request.command),
            cwd: request.cwd.to_string_lossy().into_owned(),
            reason: format!("{}{rule}", decision.reason),
        })
    }

    fn begin(&mut self, event: impl FnOnce(&str) -> AuditEvent) -> Result<(), AuditError> {
        if let Some(journal) = self.keeper.journal() {
            self.silent = journal.note(&event(&self.name))? == Noted::No;
        }
        self.stage = Stage::Begun;
        Ok(())
    }

    /// Hears an event before anybody else, and gives it the run's name. An error means that the command must
    /// not go on.
    pub(crate) fn hear(&mut self, event: &mut Event) -> Result<(), Unrecorded> {
        match event {
            // Runs without walls have no sandbox to name.
            Event::Started { sandbox, .. } if !sandbox.is_empty() => self.name.clone_into(sandbox),
            Event::Ask(ask) => self.name.clone_into(&mut ask.violation.sandbox),
            Event::Violation(violation) => {
                self.name.clone_into(&mut violation.sandbox);
                self.seen.push(violation.clone());
                return self.refused(violation);
            }
            Event::Exited(outcome) => {
                for violation in &mut outcome.violations {
                    self.name.clone_into(&mut violation.sandbox);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn refused(&mut self, violation: &Violation) -> Result<(), Unrecorded> {
        let Some(journal) = self.keeper.journal().filter(|_| !self.silent) else { return Ok(()) };
        match journal.note(&AuditEvent::Refusal { violation: violation.clone() }) {
            Ok(noted) => {
                self.silent = noted == Noted::No;
                Ok(())
            }
            Err(error) => {
                self.silent = true;
                self.keeper.fault(RecordFault::Audit(error));
                Err(Unrecorded)
            }
        }
    }

    /// The run is over. Only the first call does anything; [`Recorder::settle`] waits for what it began.
    pub(crate) fn end(&mut self, outcome: &Outcome) {
        if matches!(self.stage, Stage::Over(_)) {
            return;
        }
        self.seen = Vec::new();
        self.log_end(outcome.exit, outcome.duration_ms, outcome.more_violations);
        let writing = (!outcome.violations.is_empty() && self.keeper.store().is_some()).then(|| {
            let (keeper, violations) = (Arc::clone(&self.keeper), outcome.violations.clone());
            let further = outcome.more_violations;
            // A database may wait for other writers and for the disk.
            tokio::task::spawn_blocking(move || keep(&keeper, &violations, further))
        });
        self.stage = Stage::Over(writing);
    }

    /// Waits until everything is on record. May be dropped and called again.
    pub(crate) async fn settle(&mut self) {
        if let Stage::Over(writing) = &mut self.stage
            && let Some(task) = writing
        {
            // Whatever went wrong is among the faults.
            let _ = task.await;
            *writing = None;
        }
    }

    /// The command never started, for a reason that is no outcome.
    pub(crate) fn failed(&mut self) {
        self.log_end(Exit::NotStarted { errno: 0 }, self.elapsed(), 0);
        self.stage = Stage::Over(None);
    }

    fn log_end(&self, exit: Exit, duration_ms: u64, unlisted: u64) {
        if let (Some(journal), Stage::Begun) = (self.keeper.journal(), &self.stage) {
            journal.tell(&AuditEvent::End {
                sandbox: self.name.clone(),
                exit,
                exit_code: exit.status(),
                duration_ms,
                unlisted,
            });
        }
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn start(name: &str, request: &Request, plan: &Plan, policy: String) -> AuditEvent {
    AuditEvent::Start {
        sandbox: name.to_owned(),
        command: text(&request.command),
        cwd: request.cwd.to_string_lossy().into_owned(),
        preset: Some(plan.preset.clone()),
        policy,
    }
}

/// Something could not be written to a log that is required.
#[derive(Debug)]
pub(crate) struct Unrecorded;

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Stage::Begun = self.stage {
            self.log_end(Exit::Cancelled { signal: SIGKILL }, self.elapsed(), 0);
            keep(&self.keeper, &self.seen, 0);
        }
    }
}

/// Puts refusals into the store.
fn keep(keeper: &Keeper, violations: &[Violation], further: u64) {
    let Some(store) = keeper.store() else { return };
    match store.record_with(violations, further, keeper.ignored()) {
        Ok(recorded) => {
            if let Some(aside) = recorded.set_aside {
                keeper.fault(RecordFault::SetAside { aside });
            }
        }
        Err(error) => keeper.fault(RecordFault::Store(error)),
    }
}

fn text(command: &CommandLine) -> String {
    argv(command).iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
