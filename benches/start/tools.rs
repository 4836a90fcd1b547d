//! The programs that are compared, and how each is told to run a command.

use crate::grounds::Grounds;
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A way to run a command.
#[derive(Clone, Debug)]
pub(crate) enum Tool {
    /// No sandbox at all.
    Bare,
    /// bubblewrap with every namespace and a read-only root.
    Bubblewrap(PathBuf),
    /// srt with its defaults.
    Srt(PathBuf),
    /// The command line with its defaults.
    Stockade(PathBuf),
}

/// The tools of this machine.
pub(crate) struct Tools {
    pub(crate) stockade: Tool,
    pub(crate) bubblewrap: Option<Tool>,
    pub(crate) srt: Option<Tool>,
}

impl Tools {
    /// Looks where `cargo xtask bench` says, then beside this program, then on the PATH.
    pub(crate) fn find() -> Result<Self> {
        let named = std::env::var_os("STOCKADE_BENCH_BINARY").map(PathBuf::from);
        let stockade = named.or_else(beside_us).filter(|path| path.is_file());
        let stockade = stockade
            .context("there is no release build of the command line\nhint: `cargo xtask bench` makes one")?;
        let srt = std::env::var_os("STOCKADE_BENCH_SRT").map(PathBuf::from).or_else(|| on_path("srt"));
        Ok(Self {
            stockade: Tool::Stockade(stockade),
            bubblewrap: on_path("bwrap").map(Tool::Bubblewrap),
            srt: srt.map(Tool::Srt),
        })
    }

    /// All that are there, ours last.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Tool> {
        [Some(&Tool::Bare), self.bubblewrap.as_ref(), self.srt.as_ref(), Some(&self.stockade)]
            .into_iter()
            .flatten()
    }
}

impl Tool {
    /// Its name in a table.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Bare => "bare fork and exec",
            Self::Bubblewrap(_) => "bwrap",
            Self::Srt(_) => "srt",
            Self::Stockade(_) => "stockade run",
        }
    }

    /// The command line that runs `argv` in the empty workspace.
    pub(crate) fn command(&self, grounds: &Grounds, argv: &[&str]) -> Command {
        self.command_with(grounds, &grounds.workspace(), &[], argv)
    }

    /// The same with options of the tool, in a directory.
    ///
    /// Everybody gets the same small environment, so that nobody's settings or variables are measured.
    pub(crate) fn command_with(
        &self,
        grounds: &Grounds,
        directory: &Path,
        options: &[&OsStr],
        argv: &[&str],
    ) -> Command {
        const ISOLATED: [&str; 8] =
            ["--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"];
        let mut command = match self {
            Self::Bare => Command::new(argv[0]),
            Self::Bubblewrap(path) | Self::Srt(path) | Self::Stockade(path) => Command::new(path),
        };
        match self {
            Self::Bare => command.args(&argv[1..]),
            Self::Bubblewrap(_) => command.args(ISOLATED).args(options).args(argv),
            Self::Srt(_) => command.args(options).args(argv),
            Self::Stockade(_) => command.arg("run").args(options).arg("--").args(argv),
        };
        command
            .current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", grounds.home())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

/// Runs a command to its end. What it said is fetched by a second run, so that no pipe is part of a time.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status =
        command.status().with_context(|| format!("could not start {}", command.get_program().display()))?;
    if status.success() {
        return Ok(());
    }
    let said = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
    let said =
        said.map(|output| String::from_utf8_lossy(&output.stderr).trim_end().to_owned()).unwrap_or_default();
    bail!("{} failed ({status}): {said}", command.get_program().display())
}

/// `target/release/stockade`, from `target/release/deps/start-…`.
fn beside_us() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.parent()?.join("stockade"))
}

/// Where a program is.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|candidate| candidate.is_file())
}
