//! The sandbox a session's shell lives in, with everything that stands around it.

use super::channel::Channel;
use super::directory::RunDirectory;
use super::shell::Shell;
use super::state::Kept;
use super::tender::{Ear, Recording};
use super::{SessionError, driver};
use crate::network::{self, NetworkHandle, Opened};
use crate::reload::{Following, Looker};
use crate::runtime::Runtime;
use crate::shifts::Shift;
use crate::{PrepareError, StartError, policy_digest, shell};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stockade_isolate::{
    Afterwards, Command, ExecError, Health, Running, Sandbox, StartError as EngineError, Started, Stdio,
};
use stockade_policy::{CommandLine, Event, Plan, Policy};

/// A sandbox that stays.
pub(super) struct Walls {
    pub(super) runtime: Arc<Runtime>,
    /// The policy they were built for.
    pub(super) policy: Arc<Policy>,
    pub(super) sandbox: Arc<dyn Sandbox>,
    pub(super) plan: Arc<Plan>,
    /// Of the plan, for the audit log.
    pub(super) digest: String,
    pub(super) network: Option<NetworkHandle>,
    pub(super) directory: RunDirectory,
    /// What happens beside the commands.
    pub(super) ear: Arc<Ear>,
    /// What the person should know about the start.
    pub(super) warnings: Vec<String>,
    /// That it is at work, or may be.
    pub(super) shift: Option<Shift>,
    /// Where the directory is seen inside.
    inside: PathBuf,
    looker: Looker,
    _recording: Recording,
}

/// How a shell came to stand where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Where it was wanted.
    There,
    /// That directory is not there any more, or cannot be entered.
    Elsewhere,
}

impl Walls {
    /// Builds them and starts a shell inside.
    pub(super) async fn build(
        runtime: Arc<Runtime>,
        policy: &Arc<Policy>,
        kept: &Kept,
        name: &str,
    ) -> Result<(Self, Shell, Standing), SessionError> {
        let request = runtime.request(CommandLine::Argv(words()));
        let mut plan = runtime.workspaces().plan(policy, &request).map_err(PrepareError::from)?;
        let directory = RunDirectory::make(runtime.environment())?;
        let inside = plan.open_channel(directory.path(), directory.identity());
        let mut equipment = network::equip(Arc::new(plan), &request.environment).map_err(StartError::from)?;
        let plan = Arc::clone(&equipment.plan);
        runtime.workspaces().add(policy, &plan);
        let shift = runtime.shifts().begin(&plan);
        let (channel, command) = command(&plan, kept, None)?;
        let mut standing = Standing::There;
        let (channel, started) =
            match runtime.provider().start(Arc::clone(&plan), Box::new(|| Some(command))).await {
                Err(EngineError::Exec(ExecError::Directory { .. })) => {
                    standing = Standing::Elsewhere;
                    let (channel, command) = self::command(&plan, kept, Some(&plan.workspace))?;
                    (channel, runtime.provider().start(Arc::clone(&plan), Box::new(|| Some(command))).await)
                }
                started => (channel, started),
            };
        let Started { sandbox, running } = started.map_err(|error| match error {
            EngineError::Create(error) => SessionError::from(StartError::from(error)),
            EngineError::Exec(error) => error.into(),
            EngineError::Withdrawn => ExecError::Gone.into(),
        })?;
        let warnings = std::mem::take(&mut equipment.warnings);
        let opened = match network::open(equipment, &sandbox, name, runtime.provider().kind()) {
            Ok(opened) => opened,
            Err(error) => {
                drop(running);
                sandbox.destroy().await;
                return Err(StartError::from(error).into());
            }
        };
        let ear = Arc::new(Ear::default());
        let doorway = opened.as_ref().map(Opened::doorway);
        let following = Following::begin(runtime.reload(), doorway);
        let walls = Self {
            looker: following.looker(),
            network: opened.as_ref().map(|opened| opened.handle().clone()),
            _recording: Recording::begin(opened, following, Arc::clone(&ear)),
            runtime,
            policy: Arc::clone(policy),
            sandbox,
            digest: policy_digest(&plan),
            plan,
            directory,
            shift,
            inside,
            ear,
            warnings,
        };
        let shell = walls.greet(channel, running).await?;
        Ok((walls, shell, standing))
    }

    /// Starts another shell in the same sandbox.
    pub(super) async fn start(&self, kept: &Kept) -> Result<(Shell, Standing), SessionError> {
        let (channel, command) = command(&self.plan, kept, None)?;
        let (channel, running, standing) = match self.sandbox.exec(command).await {
            Ok(running) => (channel, running, Standing::There),
            Err(ExecError::Directory { .. }) => {
                let (channel, command) = self::command(&self.plan, kept, Some(&self.plan.workspace))?;
                (channel, self.sandbox.exec(command).await?, Standing::Elsewhere)
            }
            Err(error) => return Err(error.into()),
        };
        Ok((self.greet(channel, running).await?, standing))
    }

    async fn greet(&self, channel: Channel, running: Running) -> Result<Shell, SessionError> {
        let desk = self.runtime.desk();
        Shell::greet(channel, running, &self.directory, driver::prelude(&self.inside), desk, &self.ear).await
    }

    /// What became of the settings since somebody was told.
    pub(super) fn news(&self) -> Vec<Event> {
        self.ear.take_missed().into_iter().chain(self.looker.news()).collect()
    }

    /// Whether another shell can be started inside.
    pub(super) fn stand(&self) -> bool {
        self.sandbox.health() == Health::Running
    }

    /// Ends everything inside.
    pub(super) async fn fall(&self) {
        self.sandbox.destroy().await;
        if let Some(network) = &self.network {
            network.finish().await;
        }
    }
}

/// The shell's own words.
fn words() -> Vec<OsString> {
    // A person's start files would be read anew with every restart, and may wait for a person.
    let quiet = ["--norc", "--noprofile"];
    [shell::program().into()].into_iter().chain(quiet.map(OsString::from)).collect()
}

/// What starts a shell, and our end of what it reads.
fn command(plan: &Plan, kept: &Kept, cwd: Option<&Path>) -> Result<(Channel, Command), SessionError> {
    let failed = |source| SessionError::Pipes { act: "make a socket", source };
    let (channel, theirs) = Channel::pair().map_err(failed)?;
    let cwd = cwd.or(kept.cwd.as_deref()).unwrap_or(&plan.workspace);
    let command = Command {
        stdio: [Stdio::Descriptor(theirs), Stdio::Null, Stdio::Null],
        environment: kept.exports.clone().unwrap_or_default(),
        afterwards: Afterwards::Beside,
        ..Command::new(words(), cwd)
    };
    Ok((channel, command))
}
