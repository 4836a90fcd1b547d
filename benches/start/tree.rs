//! A workspace with very many files: starting in it, and searching all of it. Once without a secret in it and
//! once with one, because a secret in the workspace is what makes the default preset hold reads.

use crate::columns::{Caller, Column, words};
use crate::grounds::{Grounds, Place, scatter, scattered, write};
use crate::report::Report;
use crate::tools::{Tool, Tools, on_path, succeed};
use anyhow::Result;
use std::ffi::OsStr;
use std::time::Duration;
use stockade_bench::{Comparison, Contender, Lap, Limit, race};

/// What is searched for.
const NEEDLE: &str = "needle";

/// A start in the tree.
const START: Limit = Limit::Within(Duration::from_millis(25));
/// A search of it, against bare.
const SEARCH: f64 = 2.5;

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) starts: usize,
    pub(crate) searches: usize,
}

pub(crate) fn measure(
    tools: &Tools,
    caller: &Caller,
    grounds: &Grounds,
    rounds: Rounds,
    files: usize,
    report: &mut Report,
) -> Result<()> {
    let place = grounds.place()?;
    let line = "a line of text that is there to be looked at and says nothing\n";
    scatter(&place.workspace, files, |number| format!("{number}\n{}", line.repeat(1 + number % 3)))?;
    write(&scattered(&place.workspace, files / 2), NEEDLE)?;

    let scene = Scene { tools, caller, grounds, place: &place };
    let mut comparison = Comparison::new(format!("A tree of {files} files"), &Column::names());
    let mut all = Vec::new();
    for secret in ["", " with a `.env` in it"] {
        if !secret.is_empty() {
            write(&place.workspace.join(".env"), "TOKEN=secret\n")?;
        }
        let start = scene.start(rounds.starts, secret, &mut comparison, &mut all);
        let search = match on_path("rg") {
            Some(_) => scene.search(rounds.searches, secret, &mut comparison, &mut all),
            None => {
                report.skip("rg", "it is not on the PATH");
                None
            }
        };
        // Either will do: looking through the tree before the start, or judging every open.
        let better = [start.map(|time| time.as_secs_f64() / 0.025), search.map(|ratio| ratio / SEARCH)];
        let better = better.into_iter().flatten().reduce(f64::min);
        let text = format!("tree{secret}: the better of start / 25 ms and `rg` / {SEARCH} × bare");
        report.promise(text, 1.0, better);
    }
    report.compare(comparison.unpromised(Column::Default.name()), &all);
    Ok(())
}

struct Scene<'a> {
    tools: &'a Tools,
    caller: &'a Caller,
    grounds: &'a Grounds,
    place: &'a Place,
}

impl Scene<'_> {
    /// `true` through the library, and through the command line as it is shipped, whose median is given back.
    fn start(
        &self,
        rounds: usize,
        secret: &str,
        comparison: &mut Comparison,
        all: &mut Vec<Lap>,
    ) -> Option<Duration> {
        let (library, program) =
            (format!("start{secret}, library"), format!("start{secret}, `stockade run`"));
        let argv = &words(&["/bin/true"]);
        let mut contenders: Vec<Contender<'_>> = Column::ALL
            .map(|column| {
                let act = move || Ok(self.caller.run(column, self.place, argv)?.time);
                Contender::with_own_clock(format!("{library}, {}", column.name()), act)
            })
            .into();
        let shipped: [(Column, &Tool, &[&str]); 3] = [
            (Column::Bare, &Tool::Bare, &[]),
            (Column::Default, &self.tools.stockade, &[]),
            (Column::Traced, &self.tools.stockade, &["--trace", "reads"]),
        ];
        contenders.extend(shipped.map(|(column, tool, options)| {
            let options: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
            Contender::new(format!("{program}, {}", column.name()), move || {
                let directory = &self.place.workspace;
                succeed(&mut tool.command_with(self.grounds, directory, &options, &["/bin/true"]))
            })
        }));
        let laps = race(rounds, Duration::ZERO, contenders);
        let limits = [None, None, Some(START), None];
        comparison.row(&library, &laps[..4].iter().map(Some).collect::<Vec<_>>(), &limits);
        comparison.row(&program, &[Some(&laps[4]), None, Some(&laps[5]), Some(&laps[6])], &limits);
        let median = laps[5].result.as_ref().ok().map(|samples| samples.median());
        all.extend(laps);
        median
    }

    /// `rg` over everything; the default preset's times of bare are given back.
    fn search(
        &self,
        rounds: usize,
        secret: &str,
        comparison: &mut Comparison,
        all: &mut Vec<Lap>,
    ) -> Option<f64> {
        let what = format!("`rg` over all files{secret}");
        let argv = &words(&["rg", "-l", "--no-ignore-parent", NEEDLE, "."]);
        let contenders = Column::ALL.map(|column| {
            let act = move || Ok(self.caller.run(column, self.place, argv)?.time);
            Contender::with_own_clock(format!("{what}, {}", column.name()), act).long()
        });
        let laps = race(rounds, Duration::ZERO, contenders.into());
        let limits = [None, Some(Limit::Times(crate::work::WALLS)), Some(Limit::Times(SEARCH)), None];
        comparison.row(&what, &laps.iter().map(Some).collect::<Vec<_>>(), &limits);
        let medians = laps[2].result.as_ref().ok().zip(laps[0].result.as_ref().ok());
        let ratio = medians.map(|(held, bare)| held.ratio(bare));
        all.extend(laps);
        ratio
    }
}
