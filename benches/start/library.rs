//! The library in this very process: no program of ours is started, a plan is made once.

use crate::columns::without_broker;
use crate::grounds::Grounds;
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use stockade::{Afterwards, Command, CommandLine, NativeProvider, Plan, Provider, Runtime, Sandbox, Started};
use stockade_bench::{Family, family};

/// Its name in a table.
pub(crate) const NAME: &str = "library";

/// The name of [`Library::whole_road`] in a table.
pub(crate) const WHOLE_ROAD: &str = "library, plan and output included";

const TRUE: &[&str] = &["/bin/true"];
const TOUCH: &[&str] = &["/bin/touch", "touched"];

/// A plan and an executor to carry it out.
pub(crate) struct Library {
    /// One thread, as a small host program has.
    executor: tokio::runtime::Runtime,
    /// Many, for many sandboxes at once.
    threads: tokio::runtime::Runtime,
    runtime: Runtime,
    plan: Arc<Plan>,
    without_broker: Arc<Plan>,
    workspace: PathBuf,
}

impl Library {
    /// Reads the settings and makes the plan, with the environment the other contenders get.
    pub(crate) fn open(grounds: &Grounds) -> Result<Self> {
        let workspace = grounds.workspace();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let environment: [(OsString, OsString); 2] =
            [("PATH".into(), path), ("HOME".into(), grounds.home().into())];
        let runtime = Runtime::builder().cwd(&workspace).environment(environment).build()?;
        let request = runtime.request(nothing());
        let plan = runtime.prepare(request)?.plan;
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        Ok(Self {
            executor: executor.context("could not start an executor")?,
            threads: threads.context("could not start threads")?,
            runtime,
            without_broker: without_broker(Arc::clone(&plan)),
            plan,
            workspace,
        })
    }

    /// What most callers do: one call from the request to the outcome, with a plan of its own.
    pub(crate) fn whole_road(&self) -> Result<()> {
        let captured = self.executor.block_on(self.runtime.run(nothing()))?;
        ensure!(captured.outcome.exit_code == 0, "`true` ended with {}", captured.outcome.exit_code);
        Ok(())
    }

    /// One sandbox from nothing to nothing.
    pub(crate) fn once(&self) -> Result<()> {
        self.executor.block_on(one(Arc::clone(&self.plan), self.workspace.clone(), TRUE))
    }

    /// The same with a command that makes a call which is held.
    pub(crate) fn once_held(&self) -> Result<()> {
        self.executor.block_on(one(Arc::clone(&self.plan), self.workspace.clone(), TOUCH))
    }

    /// The same with nothing held.
    pub(crate) fn once_without_broker(&self) -> Result<()> {
        self.executor.block_on(one(Arc::clone(&self.without_broker), self.workspace.clone(), TOUCH))
    }

    /// So many at once.
    pub(crate) fn crowd(&self, count: u32) -> Result<()> {
        self.threads.block_on(async {
            let start = |_| tokio::spawn(one(Arc::clone(&self.plan), self.workspace.clone(), TRUE));
            let tasks: Vec<_> = (0..count).map(start).collect();
            for task in tasks {
                task.await.context("a task ended early")??;
            }
            Ok(())
        })
    }

    /// What this process and its children grow by while so many idle sandboxes live.
    pub(crate) fn growth(&self, count: usize) -> Result<Family> {
        // What is kept for the first sandbox and all later ones is not part of one.
        self.once()?;
        self.executor.block_on(async {
            let before = own_family()?;
            let mut live: Vec<Arc<dyn Sandbox>> = Vec::new();
            for _ in 0..count {
                live.push(NativeProvider::new().create(Arc::clone(&self.plan)).await?);
            }
            let after = own_family()?;
            for sandbox in live {
                sandbox.destroy().await;
            }
            Ok(Family {
                processes: after.processes.saturating_sub(before.processes),
                pss_kib: after.pss_kib.saturating_sub(before.pss_kib),
            })
        })
    }
}

async fn one(plan: Arc<Plan>, workspace: PathBuf, argv: &[&str]) -> Result<()> {
    let mut command = Command::new(argv, workspace);
    command.afterwards = Afterwards::End;
    let Started { sandbox, running } = NativeProvider::new().start(plan, Box::new(|| Some(command))).await?;
    let outcome = running.wait().await.context("the engine went away")?;
    sandbox.destroy().await;
    ensure!(outcome.exit_code == 0, "{argv:?} ended with {}", outcome.exit_code);
    Ok(())
}

fn nothing() -> CommandLine {
    CommandLine::Argv(vec!["/bin/true".into()])
}

fn own_family() -> Result<Family> {
    family(std::process::id(), "")
}
