//! The road from a request to a running command.

use crate::asking::{Desk, Waiting};
use crate::bare::{self, Bare, OpeningError, Start};
use crate::builder::Builder;
use crate::connect::{Connected, connect, connect_bare};
use crate::crossing::CrossError;
use crate::network::{self, NetworkError, Opened};
use crate::ready::Ready;
use crate::records::{Keeper, RecordFault, Recorder};
use crate::reload::{Following, Reload};
use crate::routing::{self, Routed, SharedRouter};
use crate::running::{Beside, Copying, Running};
use crate::shell::argv;
use crate::shifts::{Shift, Shifts};
use crate::wiring::Wiring;
use crate::workspaces::Workspaces;
use crate::{AuditError, GrantStore, IgnoreList, RealFiles, Standing, annotate_stderr, bare_limits, visible};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade_isolate::{
    Afterwards, Command, CreateError, ExecError, Provider, StartError as EngineError, Started,
};
use stockade_policy::{
    BareWish, Chooser, CommandLine, Consent, Decision, Enforcement, Event, Exit, Files, Outcome, Plan,
    PlanError, Policy, Request, RuleRef, SettingsFile, Usage, Verdict, Walls,
};

/// A policy and the walls to hold it.
pub struct Runtime {
    /// The policy in force.
    reload: Reload,
    provider: Arc<dyn Provider>,
    cwd: PathBuf,
    environment: Vec<(OsString, OsString)>,
    /// Variables the caller set by name; runs without walls get them too.
    set: Vec<(String, String)>,
    grants: GrantStore,
    desk: Option<Arc<Desk>>,
    keeper: Arc<Keeper>,
    router: Option<SharedRouter>,
    workspaces: Workspaces,
    shifts: Shifts,
}

/// What a runtime is made of.
pub(crate) struct Parts {
    pub(crate) reload: Reload,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) set: Vec<(String, String)>,
    pub(crate) grants: GrantStore,
    pub(crate) desk: Option<Arc<Desk>>,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) router: Option<SharedRouter>,
    pub(crate) workspaces: Workspaces,
    pub(crate) shifts: Shifts,
}

/// A request the policy has said yes to, with the plan it will run under.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What was asked.
    pub request: Request,
    /// What the policy said: behind walls, or without.
    pub decision: Decision,
    /// What an engine will build.
    pub plan: Arc<Plan>,
}

/// The output and the end of a command that was waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    /// Bytes of standard output.
    pub stdout: Vec<u8>,
    /// Bytes of standard error.
    pub stderr: Vec<u8>,
    /// What became of it.
    pub outcome: Outcome,
}

/// A request that will not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The policy refuses it.
    #[error("refused: {}{}", visible(reason), quoted(rule))]
    Refused {
        /// Why.
        reason: String,
        /// The rule that decided, where one did.
        rule: Option<RuleRef>,
    },
    /// Somebody would have to be asked, and nobody is there.
    #[error(
        "refused: {}{}\nhint: this has to be allowed in the settings beforehand",
        visible(reason),
        quoted(rule)
    )]
    NobodyToAsk {
        /// Why.
        reason: String,
        /// The rule that decided, where one did.
        rule: Option<RuleRef>,
    },
    /// It would run without walls by settings that nobody may want any more: their file was changed or removed
    /// since, and what it says now is wrong.
    #[error(
        "refused: {} has changed and is wrong, and until it is in order nothing runs without walls (by the settings from before: {})\n{error}",
        visible(&file.to_string_lossy()),
        visible(reason)
    )]
    Unsettled {
        /// The settings file.
        file: PathBuf,
        /// What is wrong with it.
        error: String,
        /// Why the settings from before wanted no walls.
        reason: String,
    },
    /// There is no plan that holds the policy.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// A prepared command did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The sandbox could not be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// A descriptor must not cross the wall.
    #[error(transparent)]
    Cross(#[from] CrossError),
    /// The command could not be started inside.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// Its network could not be made ready.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A file of a redirection could not be opened.
    #[error(transparent)]
    Opening(#[from] OpeningError),
    /// The settings require an audit log, and it cannot be written.
    #[error("the audit log is required and cannot be written; nothing was run: {0}")]
    Audit(#[from] AuditError),
}

/// [`Runtime::run`] has no result to give.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The policy said no.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// It did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It started, and its engine went away without telling the end.
    #[error("the engine ended before the command did\nhint: the machine may be out of memory")]
    Lost,
}

impl Runtime {
    /// Begins to describe one.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { reload, provider, cwd, environment, set, grants, desk, keeper, router, .. } = parts;
        let Parts { workspaces, shifts, .. } = parts;
        Self { reload, provider, cwd, environment, set, grants, desk, keeper, router, workspaces, shifts }
    }

    /// The policy in force: what the settings files say now, or what they said before they went wrong. It is
    /// another one whenever they have changed, which `Arc::ptr_eq` tells.
    pub fn policy(&self) -> Arc<Policy> {
        self.reload.newest().0
    }

    /// The settings files the policy is made from, and whether a project's were trusted.
    pub fn settings_files(&self) -> Vec<(SettingsFile, Standing)> {
        self.reload.files()
    }

    /// The grants of this runtime's commands. They live as long as a copy of this does.
    pub fn grants(&self) -> &GrantStore {
        &self.grants
    }

    /// How many acts were refused without asking because there were too many questions.
    pub fn unasked(&self) -> u64 {
        self.desk.as_ref().map_or(0, |desk| desk.unasked())
    }

    /// What the settings hide where refusals are shown. Outcomes and events hold everything.
    pub fn ignored(&self) -> &IgnoreList {
        self.keeper.ignored()
    }

    /// What went wrong with records since the last look.
    pub fn record_faults(&self) -> Vec<RecordFault> {
        self.keeper.faults()
    }

    /// A command's standard error with its refusals added, but for those the settings hide: see
    /// [`annotate_stderr`].
    pub fn annotate(&self, stderr: &str, outcome: &Outcome) -> String {
        let shown = outcome.violations.iter().filter(|violation| !self.ignored().hides(violation));
        annotate_stderr(stderr, &shown.cloned().collect::<Vec<_>>())
    }

    /// A request to run this command behind walls, in the working directory.
    pub fn request(&self, command: CommandLine) -> Request {
        Request {
            command,
            cwd: self.cwd.clone(),
            chosen_by: Chooser::Caller,
            environment: self.environment.clone(),
            bare: BareWish::Sandboxed,
            walls: Walls::Standing,
            consent: Consent::Missing,
            kept: Vec::new(),
            at_work: Vec::new(),
        }
    }

    /// Begins with what the next start needs whatever its plan is, in a process beside this one. For whoever is
    /// about to prepare a command and start it from this very thread; a command that gets no walls gives it up.
    pub fn get_ready(&self) -> Ready {
        Ready::of(Arc::clone(&self.provider))
    }

    /// Asks the policy and makes the plan. Nothing runs yet.
    pub fn prepare(&self, request: Request) -> Result<Prepared, PrepareError> {
        let judged = self.judge(&request)?;
        self.prepare_judged(request, judged)
    }

    /// The same for a request that was judged.
    pub(crate) fn prepare_judged(
        &self,
        request: Request,
        (policy, decision): (Arc<Policy>, Decision),
    ) -> Result<Prepared, PrepareError> {
        let mut plan = self.workspaces.plan(&policy, &request)?;
        if decision.verdict == Verdict::Unsandboxed {
            // What a plan has to say is about its walls.
            plan.notices.retain(|notice| policy.notices().contains(notice));
        }
        Ok(Prepared { request, decision, plan: Arc::new(plan) })
    }

    pub(crate) fn router(&self) -> Option<&SharedRouter> {
        self.router.as_ref()
    }

    pub(crate) fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    /// The caller's environment.
    pub(crate) fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// Where questions go.
    pub(crate) fn desk(&self) -> Option<Arc<Desk>> {
        self.desk.clone()
    }

    pub(crate) fn keeper(&self) -> &Arc<Keeper> {
        &self.keeper
    }

    pub(crate) fn workspaces(&self) -> &Workspaces {
        &self.workspaces
    }

    pub(crate) fn shifts(&self) -> &Shifts {
        &self.shifts
    }

    pub(crate) fn reload(&self) -> &Reload {
        &self.reload
    }

    /// Starts a prepared command. A program that cannot be executed is an [`Exit::NotStarted`] outcome.
    pub async fn start(&self, prepared: Prepared, wiring: Wiring) -> Result<Running, StartError> {
        if prepared.decision.verdict == Verdict::Unsandboxed {
            self.provider.stand_down();
            let mut recorder = self.keeper.recorder();
            recorder.start_bare(&prepared.request, &prepared.decision)?;
            return self.start_bare(prepared, wiring, recorder);
        }
        let Prepared { request, plan, .. } = prepared;
        let begun = Instant::now();
        let mut equipment = network::equip(plan, &request.environment)?;
        let plan = Arc::clone(&equipment.plan);
        let limit = time_limit(&plan);
        let mut recorder = self.keeper.recorder();
        let mut made = None;
        // While the walls are built there is time for everything that only has to be done before the command runs.
        let making = || {
            let (command, beside) = match self.last_steps(&request, &plan, wiring, &mut recorder) {
                Ok((command, beside)) => (Some(command), Ok(beside)),
                Err(error) => (None, Err(error)),
            };
            made = Some(beside);
            command
        };
        let started = self.provider.start(Arc::clone(&plan), Box::new(making)).await;
        let made = made.transpose()?;
        let error = match started {
            Ok(Started { sandbox, running }) => {
                let warnings = std::mem::take(&mut equipment.warnings);
                let (connected, shift) = made.ok_or(ExecError::Gone)?;
                match network::open(equipment, &sandbox, recorder.name(), self.provider.kind()) {
                    Ok(network) => {
                        let doorway = network.as_ref().map(Opened::doorway);
                        let beside = Beside {
                            copying: Copying::begin(connected, limit),
                            waiting: Waiting::new(self.desk.clone()),
                            network,
                            following: Some(Following::begin(&self.reload, doorway)),
                            warnings,
                            shift,
                        };
                        return Ok(Running::walled(running, sandbox, beside, recorder));
                    }
                    Err(error) => {
                        drop(running);
                        sandbox.destroy().await;
                        error.into()
                    }
                }
            }
            Err(EngineError::Exec(ExecError::Program { source, .. })) => {
                let outcome = not_started(&source, self.provider.kind(), begun, Enforcement::default());
                return Ok(Running::over(outcome, recorder));
            }
            Err(EngineError::Create(error)) => StartError::from(error),
            Err(EngineError::Exec(error)) => error.into(),
            Err(EngineError::Withdrawn) => ExecError::Gone.into(),
        };
        recorder.failed();
        Err(error)
    }

    /// What has to be done before a command runs: whoever looks afterwards finds it at work, and on record.
    fn last_steps(
        &self,
        request: &Request,
        plan: &Plan,
        wiring: Wiring,
        recorder: &mut Recorder,
    ) -> Result<(Command, (Connected, Option<Shift>)), StartError> {
        let shift = self.shifts.begin(plan);
        let mut connected = connect(wiring, plan, &RealFiles)?;
        recorder.start(request, plan)?;
        self.workspaces.add(&self.reload.policy(), plan);
        let command = Command {
            argv: argv(&request.command),
            cwd: RealFiles.resolve(&request.cwd).unwrap_or_else(|_| request.cwd.clone()),
            environment: Vec::new(),
            stdio: connected.take_stdio(),
            descriptors: std::mem::take(&mut connected.descriptors),
            time_limit: time_limit(plan),
            output_limit: plan.limits.max_output,
            afterwards: Afterwards::End,
        };
        Ok((command, (connected, shift)))
    }

    /// Runs a command to its end, without input, and keeps its output.
    pub async fn run(&self, command: CommandLine) -> Result<Captured, RunError> {
        let request = self.request(command);
        if let Routed::Taken(work) = self.route(&request) {
            let begun = Instant::now();
            return Ok(routing::captured(work.await, begun));
        }
        let prepared = self.prepare(request)?;
        let mut running = self.start(prepared, Wiring::captured()).await?;
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        while let Some(event) = running.next().await {
            match event {
                Event::Stdout { data } => stdout.extend(data),
                Event::Stderr { data } => stderr.extend(data),
                Event::Exited(outcome) => return Ok(Captured { stdout, stderr, outcome: *outcome }),
                _ => {}
            }
        }
        Err(RunError::Lost)
    }

    fn start_bare(
        &self,
        prepared: Prepared,
        wiring: Wiring,
        mut recorder: Recorder,
    ) -> Result<Running, StartError> {
        let Prepared { mut request, plan, decision } = prepared;
        let begun = Instant::now();
        let enforcement = bare_limits::enforcement(&plan.limits);
        for (name, value) in &self.set {
            request.environment.retain(|(known, _)| known.to_str() != Some(name));
            request.environment.push((name.into(), value.into()));
        }
        let mut connected = connect_bare(wiring, &plan)?;
        let stdio = connected.take_stdio();
        let opened = bare::open(request.command, &decision.openings, &stdio);
        let (command, opened) = opened.inspect_err(|_| recorder.failed())?;
        let directory = decision.directory.as_deref().map(bare::directory).transpose();
        let directory = directory.inspect_err(|_| recorder.failed())?;
        let started = Bare::start(Start {
            argv: argv(&command),
            cwd: request.cwd,
            directory,
            environment: request.environment,
            stdio,
            time_limit: time_limit(&plan),
            output_limit: plan.limits.max_output,
            enforcement: enforcement.clone(),
            opened,
        });
        match started {
            Ok(bare) => {
                let copying = Copying::begin(connected, time_limit(&plan));
                Ok(Running::bare(bare, enforcement, copying, recorder))
            }
            Err(ExecError::Program { source, .. }) => {
                let mut outcome = not_started(&source, "none", begun, enforcement);
                outcome.sandboxed = false;
                Ok(Running::over(outcome, recorder))
            }
            Err(error) => {
                recorder.failed();
                Err(error.into())
            }
        }
    }
}

pub(crate) fn time_limit(plan: &Plan) -> Option<Duration> {
    plan.limits.max_execution_time.map(Duration::from_millis)
}

fn quoted(rule: &Option<RuleRef>) -> String {
    rule.as_ref().map(|rule| format!(" by {}", visible(&rule.to_string()))).unwrap_or_default()
}

pub(crate) fn not_started(
    error: &std::io::Error,
    kind: &str,
    begun: Instant,
    enforcement: Enforcement,
) -> Outcome {
    const NOT_EXECUTABLE: i32 = 8;
    let exit = Exit::NotStarted { errno: error.raw_os_error().unwrap_or(NOT_EXECUTABLE) };
    Outcome {
        exit,
        exit_code: exit.status(),
        sandboxed: true,
        kind: kind.to_owned(),
        duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        blocked: false,
        blocked_reason: None,
        blocked_resource: None,
        truncated: false,
        usage: Usage::default(),
        violations: Vec::new(),
        more_violations: 0,
        network: None,
        review: None,
        enforcement,
    }
}
