//! What a command costs in a session, against a shell and processes without any walls.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;
use stockade::{Runtime, Session, SessionOptions, Wiring};
use stockade_bench::{Comparison, Contender, Format, Lap, Limit, race};

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
    let (mut rounds, mut format) = (2000, Format::Text);
    for word in words {
        match word.as_str() {
            "--quick" => rounds = 200,
            "--markdown" => format = Format::Markdown,
            // Cargo's own.
            "--bench" => {}
            other => bail!("no option {other} (there are --quick and --markdown)"),
        }
    }
    // Not in /tmp, of which a sandbox has its own.
    let place = tempfile::Builder::new().prefix("stockade-bench-").tempdir_in("/var/tmp")?;
    let workspace = place.path().join("work");
    std::fs::create_dir(&workspace)?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let runtime = Arc::new(self::runtime(place.path(), &workspace)?);
    let session = executor.block_on(Session::open(Arc::clone(&runtime), SessionOptions::default()))?;
    let mut shell = BareShell::start(&workspace)?;
    let laps = race(
        rounds,
        Duration::ZERO,
        vec![
            Contender::new("shell", || shell.run(PROGRAM)),
            Contender::new("session", || executor.block_on(in_shell(&session))),
            Contender::new("process", || process(&workspace)),
            Contender::new("beside", || executor.block_on(beside(&session))),
        ],
    );
    let anew = race(
        rounds.div_ceil(100),
        Duration::ZERO,
        vec![
            Contender::new("shell", || BareShell::start(&workspace)?.run(PROGRAM)).long(),
            Contender::new("session", || executor.block_on(rebuilt(&session, &runtime))).long(),
        ],
    );
    executor.block_on(session.close());
    report(&laps, &anew, format);
    Ok(())
}

fn report(laps: &[Lap], anew: &[Lap], format: Format) {
    let mut comparison = Comparison::new("sessions", &["without walls", "session"]);
    let limits = |limit| [None, Some(limit)];
    comparison.row("a program in a shell that stays", &[laps.first(), laps.get(1)], &limits(IN_SHELL));
    comparison.row("a program of its own", &[laps.get(2), laps.get(3)], &limits(BESIDE));
    comparison.row("everything built anew, and a program", &[anew.first(), anew.get(1)], &limits(REBUILT));
    let (table, promises) = comparison.finish();
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

/// A shell that reads commands from a pipe and says when each is over, as agents use one without a sandbox.
struct BareShell {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl BareShell {
    fn start(workspace: &Path) -> Result<Self> {
        let mut child = Command::new("/bin/bash")
            .args(["--norc", "--noprofile"])
            .current_dir(workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let orders = child.stdin.take().context("no way in")?;
        let answers = BufReader::new(child.stdout.take().context("no way out")?);
        Ok(Self { child, orders, answers })
    }

    fn run(&mut self, text: &str) -> Result<()> {
        self.orders.write_all(format!("{text}\necho \"over $? $PWD\"\n").as_bytes())?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        ensure!(answer.starts_with("over 0 "), "it answered {answer:?}");
        Ok(())
    }
}

impl Drop for BareShell {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
