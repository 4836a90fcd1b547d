//! What one held system call costs, seen from the program that makes it.

use crate::columns::{Caller, Column};
use crate::grounds::Grounds;
use crate::inside::{Call, WORD};
use crate::report::Report;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::time::Duration;
use stockade_bench::{Comparison, Contender, race};

pub(crate) fn measure(
    caller: &Caller,
    grounds: &Grounds,
    rounds: usize,
    count: u32,
    report: &mut Report,
) -> Result<()> {
    let program = std::env::current_exe().context("could not find this program")?;
    let mut comparison = Comparison::new("One system call", &Column::names());
    let mut all = Vec::new();
    for call in Call::ALL {
        let argv: Vec<OsString> =
            vec![program.clone().into(), WORD.into(), call.word().into(), count.to_string().into()];
        let contenders = Column::ALL.map(|column| {
            Contender::with_own_clock(format!("{}, {}", title(call), column.name()), {
                let argv = &argv;
                move || one(caller, grounds, column, argv).map(|total| total / count)
            })
        });
        let laps = race(rounds, Duration::ZERO, contenders.into());
        comparison.row(title(call), &laps.iter().map(Some).collect::<Vec<_>>(), &[]);
        all.extend(laps);
    }
    report.compare(comparison, &all);
    Ok(())
}

fn title(call: Call) -> &'static str {
    match call {
        Call::Create => "`open` for creating, and `close`",
        Call::Unlink => "`unlink`",
        Call::Read => "`open` for reading, and `close`",
    }
}

fn one(caller: &Caller, grounds: &Grounds, column: Column, argv: &[OsString]) -> Result<Duration> {
    let ran = caller.run(column, &grounds.place()?, argv)?;
    let nanoseconds = String::from_utf8_lossy(&ran.stdout).trim().parse();
    Ok(Duration::from_nanos(nanoseconds.context("the loop did not say how long it took")?))
}
