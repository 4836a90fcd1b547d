//! What the broker itself costs: at the start, and while nothing happens. It comes with the first call that is held, so
//! each command makes one.

use crate::columns::{Column, prepare, runtime, words};
use crate::grounds::{Grounds, Place};
use crate::library::Library;
use crate::memory::{COMMAND, megabytes, until_idle};
use crate::report::{Report, milliseconds, samples_of};
use anyhow::{Context, Result, bail};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::Duration;
use stockade::Wiring;
use stockade_bench::{Contender, Family, Table, family, race};

/// The word that makes this program a small host of one sandbox.
pub(crate) const WORD: &str = "__host";

/// Memory is looked at so often; the middle one counts.
const LOOKS: usize = 5;

const COLUMNS: [Column; 2] = [Column::Walls, Column::Default];

pub(crate) fn measure(
    library: &Library,
    grounds: &Grounds,
    rounds: usize,
    report: &mut Report,
) -> Result<()> {
    let contenders = vec![
        Contender::new(Column::Walls.name(), || library.once_without_broker()),
        Contender::new(Column::Default.name(), || library.once_held()),
    ];
    let laps = race(rounds, Duration::ZERO, contenders);
    let idle = idle(grounds)?;

    let mut table = Table::new(
        "The broker itself (library, `touch`; a shell that makes a file and becomes `cat`)",
        &["what", "start", "p90", "processes", "memory (PSS)"],
    );
    for (column, family) in COLUMNS.into_iter().zip(idle) {
        let samples = samples_of(&laps, column.name());
        let time = |time: Option<Duration>| time.map_or_else(|| "-".to_owned(), milliseconds);
        table.row([
            column.name().to_owned(),
            time(samples.map(|samples| samples.median())),
            time(samples.map(|samples| samples.p90())),
            family.processes.to_string(),
            format!("{:.2} MB", megabytes(family)),
        ]);
    }
    report.print(&table, &laps);

    let [walls, held] = idle;
    let medians = COLUMNS.map(|column| samples_of(&laps, column.name()).map(|samples| samples.median()));
    let more =
        medians[1].zip(medians[0]).map(|(held, walls)| (held.as_secs_f64() - walls.as_secs_f64()) * 1e3);
    report.promise("broker: start, ms more", 1.0, more);
    report.promise("broker: processes more", 1.0, Some(held.processes as f64 - walls.processes as f64));
    report.promise("broker: memory, MB more", 2.0, Some(megabytes(held) - megabytes(walls)));
    Ok(())
}

/// The two hosts take turns.
fn idle(grounds: &Grounds) -> Result<[Family; 2]> {
    let mut looks = [Vec::new(), Vec::new()];
    for _ in 0..LOOKS {
        for (seen, column) in looks.iter_mut().zip(COLUMNS) {
            seen.push(look(column, grounds)?);
        }
    }
    Ok(looks.map(|mut seen| {
        seen.sort_by_key(|family| family.pss_kib);
        seen[LOOKS / 2]
    }))
}

fn look(column: Column, grounds: &Grounds) -> Result<Family> {
    let place = grounds.place()?;
    let program = std::env::current_exe().context("could not find this program")?;
    let mut host = Command::new(program)
        .args([WORD, column.name()])
        .arg(&place.workspace)
        .env("HOME", grounds.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("could not start a host")?;
    let family = until_idle(&mut host).and_then(|()| family(host.id(), COMMAND));
    // End of file ends the command, and with it the sandbox and its host.
    drop(host.stdin.take());
    host.wait().context("could not wait for the host")?;
    family
}

/// Makes a file in a sandbox, and then runs `cat` on our own descriptors until its input ends.
pub(crate) fn host(words_given: &[String]) -> Result<()> {
    let [name, workspace] = words_given else { bail!("usage: {WORD} COLUMN WORKSPACE") };
    let column = COLUMNS.into_iter().find(|column| column.name() == name);
    let column = column.context("there is no such column")?;
    let place = Place { workspace: workspace.into(), cache: workspace.into() };
    let runtime = runtime(column, &place, std::env::vars_os())?;
    let prepared = prepare(&runtime, column, &words(&["/bin/sh", "-c", ": > made; exec cat"]))?;
    let own = |descriptor: &dyn AsFd| -> Result<OwnedFd> { Ok(descriptor.as_fd().try_clone_to_owned()?) };
    let wiring =
        Wiring::descriptors(own(&std::io::stdin())?, own(&std::io::stdout())?, own(&std::io::stderr())?);
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    executor.block_on(async {
        let running = runtime.start(prepared, wiring).await?;
        running.wait().await.context("the engine went away")?;
        Ok(())
    })
}
