//! Everyday work, done in workspaces that nothing else has been done in.

mod archive;
mod build;
mod clone;
mod packages;

use crate::columns::{Caller, Column};
use crate::grounds::{Grounds, Place};
use crate::report::Report;
use crate::tools::on_path;
use anyhow::{Result, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use stockade_bench::{Comparison, Contender, Lap, Limit, race};

/// What walls alone may cost on any work, against bare.
pub(crate) const WALLS: f64 = 1.05;

/// What is left of a large sandbox, and the disk, are at rest by then.
const PAUSE: Duration = Duration::from_millis(100);

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Clone,
    Build,
    Npm,
    Pip,
    Tar,
}

/// How many files there are in each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) clone: usize,
    pub(crate) archive: usize,
    pub(crate) package: usize,
}

/// A command, what it needs to find, and what it leaves.
struct Task {
    argv: Vec<OsString>,
    /// Fills the workspace; not timed.
    ready: fn(&Path) -> Result<()>,
    /// Made last, so that it proves that the work was done. Relative to the workspace.
    made: PathBuf,
}

impl Work {
    pub(crate) const ALL: [Self; 5] = [Self::Clone, Self::Build, Self::Npm, Self::Pip, Self::Tar];

    /// Its name on the command line, which is that of its program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clone => "git",
            Self::Build => "cargo",
            Self::Npm => "npm",
            Self::Pip => "pip",
            Self::Tar => "tar",
        }
    }

    fn title(self, sizes: Sizes) -> String {
        match self {
            Self::Clone => format!("`git clone` and checkout of {} files", sizes.clone),
            Self::Build => "`cargo build` of a crate and its path dependencies".to_owned(),
            Self::Npm => format!("`npm install` of a local package of {} files", sizes.package),
            Self::Pip => format!("`pip install` of a local package of {} files", sizes.package),
            Self::Tar => format!("`tar x` of {} small files", sizes.archive),
        }
    }

    /// What the default preset may cost, against bare.
    fn limit(self) -> f64 {
        match self {
            Self::Clone => 1.2,
            Self::Build | Self::Npm | Self::Pip => 1.05,
            Self::Tar => 1.5,
        }
    }

    fn task(self, caller: &Caller, grounds: &Grounds, sizes: Sizes) -> Result<Task> {
        match self {
            Self::Clone => clone::task(caller, grounds, sizes.clone),
            Self::Build => build::task(),
            Self::Npm => packages::npm(grounds, sizes.package),
            Self::Pip => packages::pip(caller, grounds, sizes.package),
            Self::Tar => archive::task(caller, grounds, sizes.archive),
        }
    }
}

pub(crate) fn measure(
    works: &[Work],
    caller: &Caller,
    grounds: &Grounds,
    rounds: usize,
    sizes: Sizes,
    report: &mut Report,
) -> Result<()> {
    let mut comparison = Comparison::new("Everyday work", &Column::names());
    let mut all: Vec<Lap> = Vec::new();
    for work in works {
        let title = work.title(sizes);
        if on_path(work.name()).is_none() {
            report.skip(&title, &format!("there is no {} on the PATH", work.name()));
            continue;
        }
        let task = &match work.task(caller, grounds, sizes) {
            Ok(task) => task,
            Err(error) => {
                report.skip(&title, &format!("{error:#}"));
                continue;
            }
        };
        let contenders = Column::ALL.map(|column| {
            let act = move || once(column, task, caller, &grounds.place()?);
            Contender::with_own_clock(format!("{title}, {}", column.name()), act).long()
        });
        let laps = race(rounds, PAUSE, contenders.into());
        let limits = [None, Some(Limit::Times(WALLS)), Some(Limit::Times(work.limit())), None];
        comparison.row(&title, &laps.iter().map(Some).collect::<Vec<_>>(), &limits);
        all.extend(laps);
    }
    report.compare(comparison, &all);
    Ok(())
}

fn once(column: Column, task: &Task, caller: &Caller, place: &Place) -> Result<Duration> {
    (task.ready)(&place.workspace)?;
    // What the one before left to be written must not be written now; without the program it is a little.
    let _ = Command::new("sync").arg("--file-system").arg(&place.workspace).status();
    let ran = caller.run(column, place, &task.argv)?;
    let made = place.workspace.join(&task.made);
    ensure!(made.exists(), "there is no {}: the work was not done", made.display());
    Ok(ran.time)
}
