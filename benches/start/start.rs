//! The start: how long until `true` has run and everything is gone.

use crate::grounds::Grounds;
use crate::library::{self, Library};
use crate::report::{Report, milliseconds, samples_of, times};
use crate::tools::{Tool, Tools, succeed};
use std::time::Duration;
use stockade_bench::{Contender, Table, race};

/// srt takes as long as a hundred others.
const SELDOM: usize = 20;

pub(crate) fn measure(
    tools: &Tools,
    library: &Library,
    grounds: &Grounds,
    rounds: usize,
    report: &mut Report,
) {
    let contenders = tools
        .all()
        .map(|tool| {
            let contender =
                Contender::new(tool.name(), || succeed(&mut tool.command(grounds, &["/bin/true"])));
            if matches!(tool, Tool::Srt(_)) { contender.seldom(SELDOM) } else { contender }
        })
        .chain([
            Contender::new(library::NAME, || library.once()),
            Contender::new(library::WHOLE_ROAD, || library.whole_road()),
        ])
        .collect();
    let laps = race(rounds, Duration::ZERO, contenders);

    let bare = samples_of(&laps, Tool::Bare.name());
    let bwrap = tools.bubblewrap.as_ref().and_then(|tool| samples_of(&laps, tool.name()));
    let mut table = Table::new("Start of `true`", &["what", "median", "p90", "× bare", "× bwrap", "runs"]);
    for lap in &laps {
        if let Ok(samples) = &lap.result {
            table.row([
                lap.name.clone(),
                milliseconds(samples.median()),
                milliseconds(samples.p90()),
                times(samples, bare),
                times(samples, bwrap),
                samples.count().to_string(),
            ]);
        }
    }
    report.print(&table, &laps);

    let against_bwrap = |name| Some(samples_of(&laps, name)?.ratio(bwrap?));
    report.promise("command line: start, × bwrap", 0.7, against_bwrap(tools.stockade.name()));
    report.promise("library: start, × bwrap", 0.5, against_bwrap(library::NAME));
}
