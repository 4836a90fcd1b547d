//! What a command costs in a session, against a shell and processes without any walls, and `docker exec`.
#![forbid(unsafe_code)]

mod docker;
mod shell;

use anyhow::{Context, Error, Result, ensure};
use docker::Container;
use shell::BareShell;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;
use stockade::{Runtime, Session, SessionOptions, Wiring};
use stockade_bench::{Comparison, Contender, Format, Lap, Limit, Pace, Table, race, read_options, readable};

const PROGRAM: &str = "/bin/true";
/// A command in the session's shell, in units of one in a shell without walls.
const IN_SHELL: Limit = Limit::Times(1.3);
/// A program beside it, in units of fork and exec.
const BESIDE: Limit = Limit::Times(1.5);
/// Building everything anew.
const REBUILT: Limit = Limit::Within(Duration::from_secs(1));

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: impl Iterator<Item = String>) -> Result<()> {
    let (pace, format) = read_options(words).map_err(Error::msg)?;
    let rounds = if pace == Pace::Quick { 200 } else { 2000 };
    // Not in /tmp, of which a sandbox has its own.
    let place = tempfile::Builder::new().prefix("stockade-bench-").tempdir_in("/var/tmp")?;
    let workspace = place.path().join("work");
    std::fs::create_dir(&workspace)?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let runtime = Arc::new(self::runtime(place.path(), &workspace)?);
    let open = || executor.block_on(Session::open(Arc::clone(&runtime), SessionOptions::default()));
    // One only for programs: beside a shell that was just used, its state is asked for first.
    let (session, live) = (open()?, open()?);
    let mut shell = BareShell::start(&workspace)?;
    let mut laps = race(
        rounds,
        Duration::ZERO,
        vec![
            Contender::new("shell", || shell.run(PROGRAM)),
            Contender::new("session", || executor.block_on(in_shell(&session))),
            Contender::new("process", || process(&workspace)),
            Contender::new("beside", || executor.block_on(beside(&live))),
            Contender::new("beside a shell just used", || executor.block_on(beside(&session))),
        ],
    );
    laps.extend(in_container(&place.path().join("docker"), rounds));
    let anew = race(
        rounds.div_ceil(100),
        Duration::ZERO,
        vec![
            Contender::new("shell", || BareShell::start(&workspace)?.run(PROGRAM)).long(),
            Contender::new("session", || executor.block_on(rebuilt(&session, &runtime))).long(),
        ],
    );
    executor.block_on(session.close());
    executor.block_on(live.close());
    report(&laps, &anew, format);
    Ok(())
}

/// `docker exec`, and a program without walls in the same race, where an engine can be had.
fn in_container(place: &Path, rounds: usize) -> Vec<Lap> {
    match Container::start(place) {
        Ok(container) => race(
            rounds.div_ceil(20),
            Duration::ZERO,
            vec![
                Contender::new("process, beside docker", || process(Path::new("/"))),
                Contender::new("docker exec", || container.exec(PROGRAM)).long(),
            ],
        ),
        Err(error) => {
            println!("docker exec is not measured: {error:#}");
            Vec::new()
        }
    }
}

fn report(laps: &[Lap], anew: &[Lap], format: Format) {
    let lap = |name: &str| laps.iter().find(|lap| lap.name == name);
    let mut comparison = Comparison::new("sessions", &["without walls", "session"]);
    let limits = |limit| [None, Some(limit)];
    let in_shell = [lap("shell"), lap("session")];
    comparison.row("a program in a shell that stays", &in_shell, &limits(IN_SHELL));
    comparison.row("a program in a live sandbox", &[lap("process"), lap("beside")], &limits(BESIDE));
    let after = [lap("process"), lap("beside a shell just used")];
    comparison.row("the same beside a shell just used", &after, &[None, None]);
    comparison.row("everything built anew, and a program", &[anew.first(), anew.get(1)], &limits(REBUILT));
    let (table, promises) = comparison.finish();
    println!("{}", table.render(format));
    let mut table = Table::new("a program, each way", &["what", "p50", "p99"]);
    for lap in laps {
        if let Ok(samples) = &lap.result {
            table.row([lap.name.clone(), readable(samples.median()), readable(samples.p99())]);
        }
    }
    println!("{}", table.render(format));
    for promise in promises {
        println!("{}: {}", promise.text, promise.verdict());
    }
    for lap in laps.iter().chain(anew) {
        if let Err(error) = &lap.result {
            println!("{}: {error}", lap.name);
        }
    }
}

fn runtime(home: &Path, workspace: &Path) -> Result<Runtime> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let runtime_directory = std::env::var_os("XDG_RUNTIME_DIR");
    let mut environment: Vec<(OsString, OsString)> =
        vec![("PATH".into(), path), ("HOME".into(), home.into())];
    environment.extend(runtime_directory.map(|place| ("XDG_RUNTIME_DIR".into(), place)));
    Ok(Runtime::builder().cwd(workspace).environment(environment).build()?)
}

async fn in_shell(session: &Session) -> Result<()> {
    let done = session.run(PROGRAM).await?;
    ensure!(done.outcome.exit_code == 0, "it ended with {}", done.outcome.exit_code);
    Ok(())
}

async fn beside(session: &Session) -> Result<()> {
    let outcome = session.exec_argv([PROGRAM], Wiring::captured()).await?.wait().await;
    let outcome = outcome.context("the engine went away")?;
    ensure!(outcome.exit_code == 0, "it ended with {}", outcome.exit_code);
    Ok(())
}

async fn rebuilt(session: &Session, runtime: &Arc<Runtime>) -> Result<()> {
    session.rebuild(Arc::clone(runtime)).await?;
    in_shell(session).await
}

fn process(workspace: &Path) -> Result<()> {
    let done = Command::new(PROGRAM).current_dir(workspace).stdin(Stdio::null()).output()?;
    ensure!(done.status.success(), "it ended with {}", done.status);
    Ok(())
}
