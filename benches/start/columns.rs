//! The ways a command is run to learn what the broker costs. But for the plan they differ in nothing.

use crate::grounds::{Grounds, Place};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade::{CommandLine, Flags, Plan, Prepared, Runtime, Switch, UnixSockets, WallLayer, Wiring};

/// One of them, in the order of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// No sandbox at all.
    Bare,
    /// Mounts, namespaces, Landlock and a filter that holds nothing.
    Walls,
    /// The default preset: what mounts cannot judge is held.
    Default,
    /// The same, and every open for reading is held.
    Traced,
}

impl Column {
    pub(crate) const ALL: [Self; 4] = [Self::Bare, Self::Walls, Self::Default, Self::Traced];

    /// The heads of a table.
    pub(crate) fn names() -> [&'static str; 4] {
        Self::ALL.map(Self::name)
    }

    /// Its name in a table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Walls => "walls only",
            Self::Default => "default preset",
            Self::Traced => "all reads traced",
        }
    }
}

/// A command that has ended well.
pub(crate) struct Ran {
    /// From the request to the end of everything, the making of the plan included.
    pub(crate) time: Duration,
    pub(crate) stdout: Vec<u8>,
}

/// Who runs commands.
pub(crate) struct Caller {
    executor: tokio::runtime::Runtime,
    path: OsString,
    home: PathBuf,
}

impl Caller {
    /// The search path begins with the compiler's own programs: what a version manager puts there starts
    /// several processes to find them.
    pub(crate) fn new(grounds: &Grounds) -> Result<Self> {
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let toolchain = answer(Command::new("rustc").args(["--print", "sysroot"]));
        let front = toolchain.map(|sysroot| PathBuf::from(sysroot).join("bin"));
        let path = std::env::join_paths(front.into_iter().chain(std::env::split_paths(&path)))
            .context("the PATH has a strange entry")?;
        Ok(Self { executor: executor.context("could not start an executor")?, path, home: grounds.home() })
    }

    /// Runs a command in a place.
    pub(crate) fn run(&self, column: Column, place: &Place, argv: &[OsString]) -> Result<Ran> {
        if column == Column::Bare {
            return self.run_bare(place, argv);
        }
        let runtime = runtime(column, place, self.environment())?;
        let begin = Instant::now();
        let prepared = prepare(&runtime, column, argv)?;
        let captured = self.executor.block_on(async {
            let mut running = runtime.start(prepared, Wiring::captured()).await?;
            let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
            while let Some(event) = running.next().await {
                match event {
                    stockade::Event::Stdout { data } => stdout.extend(data),
                    stockade::Event::Stderr { data } => stderr.extend(data),
                    stockade::Event::Exited(outcome) => {
                        return anyhow::Ok((stdout, stderr, outcome.exit_code));
                    }
                    _ => {}
                }
            }
            bail!("the engine went away")
        });
        let time = begin.elapsed();
        let (stdout, stderr, code) = captured?;
        ensure!(code == 0, "{} ended with {code}: {}", argv[0].display(), said(&stderr));
        Ok(Ran { time, stdout })
    }

    /// The command without a sandbox, set up by the same tools: for what is not timed.
    pub(crate) fn set_up(&self, place: &Place, argv: &[OsString]) -> Result<()> {
        self.run_bare(place, argv).map(drop)
    }

    fn run_bare(&self, place: &Place, argv: &[OsString]) -> Result<Ran> {
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).current_dir(&place.workspace).stdin(Stdio::null()).env_clear();
        // A sandbox in a new workspace has cold caches of its own; nobody's may be warm.
        let caches = ["CARGO_HOME", "npm_config_cache", "PIP_CACHE_DIR", "XDG_CACHE_HOME"];
        command.envs(self.environment()).envs(caches.map(|name| (name, place.cache.join(name))));
        let begin = Instant::now();
        let output = command.output().with_context(|| format!("could not start {}", argv[0].display()))?;
        let time = begin.elapsed();
        ensure!(
            output.status.success(),
            "{} failed ({}): {}",
            argv[0].display(),
            output.status,
            said(&output.stderr)
        );
        Ok(Ran { time, stdout: output.stdout })
    }

    fn environment(&self) -> [(OsString, OsString); 2] {
        [("PATH".into(), self.path.clone()), ("HOME".into(), self.home.clone().into())]
    }
}

/// A runtime for a column with walls.
pub(crate) fn runtime(
    column: Column,
    place: &Place,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Runtime> {
    let trace_reads = if column == Column::Traced { Switch::Allowed } else { Switch::Refused };
    let flags = Flags { trace_reads, ..Flags::default() };
    Ok(Runtime::builder().cwd(&place.workspace).environment(environment).flags(flags).build()?)
}

/// A plan for a column with walls.
pub(crate) fn prepare(runtime: &Runtime, column: Column, argv: &[OsString]) -> Result<Prepared> {
    let mut prepared = runtime.prepare(runtime.request(CommandLine::Argv(argv.to_vec())))?;
    ensure!(
        prepared.plan.broker.is_some(),
        "the default preset holds nothing: there is no broker to measure"
    );
    if column == Column::Walls {
        prepared.plan = without_broker(prepared.plan);
    }
    Ok(prepared)
}

/// The same plan with nobody to hold calls for.
pub(crate) fn without_broker(mut plan: Arc<Plan>) -> Arc<Plan> {
    let walls = Arc::make_mut(&mut plan);
    walls.broker = None;
    walls.syscalls.unix_sockets = UnixSockets::PairsOnly;
    walls.layers.retain(|need| need.layer != WallLayer::Broker);
    plan
}

/// What a program prints, on one line; `None` if it is not there or fails.
pub(crate) fn answer(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// Words as an argument list.
pub(crate) fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn said(stderr: &[u8]) -> String {
    String::from_utf8_lossy(stderr).trim_end().to_owned()
}
