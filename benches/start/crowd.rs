//! A hundred at once.

use crate::grounds::Grounds;
use crate::library::{self, Library};
use crate::report::{Report, milliseconds, samples_of, times};
use crate::tools::{Tool, Tools};
use anyhow::{Context, Result, ensure};
use std::time::Duration;
use stockade_bench::{Contender, Table, race};

const CROWD: u32 = 100;

pub(crate) fn measure(
    tools: &Tools,
    library: &Library,
    grounds: &Grounds,
    rounds: usize,
    report: &mut Report,
) {
    let quick = tools.all().filter(|tool| !matches!(tool, Tool::Srt(_)));
    let contenders = quick
        .map(|tool| Contender::new(tool.name(), || all_at_once(tool, grounds)))
        .chain([Contender::new(library::NAME, || library.crowd(CROWD))])
        .collect();
    let laps = race(rounds, Duration::ZERO, contenders);

    let bwrap = tools.bubblewrap.as_ref().and_then(|tool| samples_of(&laps, tool.name()));
    let title = format!("{CROWD} at once");
    let mut table = Table::new(title, &["what", "all done after", "a sandbox", "× bwrap"]);
    for lap in &laps {
        if let Ok(samples) = &lap.result {
            let median = samples.median();
            let row = [milliseconds(median), milliseconds(median / CROWD), times(samples, bwrap)];
            table.row(std::iter::once(lap.name.clone()).chain(row));
        }
    }
    report.print(&table, &laps);
}

fn all_at_once(tool: &Tool, grounds: &Grounds) -> Result<()> {
    let mut children = Vec::new();
    let mut failure = None;
    for _ in 0..CROWD {
        match tool.command(grounds, &["/bin/true"]).spawn() {
            Ok(child) => children.push(child),
            Err(error) => failure = Some(error),
        }
    }
    let mut failed = 0;
    for mut child in children {
        let status = child.wait().context("could not wait for a child")?;
        failed += u32::from(!status.success());
    }
    if let Some(error) = failure {
        return Err(error).context("could not start all of them");
    }
    ensure!(failed == 0, "{failed} of {CROWD} failed");
    Ok(())
}
