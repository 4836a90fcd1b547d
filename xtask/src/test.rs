//! Everything that guards a change. A step that fails does not keep the others from being tried, so that
//! one run tells all there is to mend.

use crate::process::{cargo, root, target, written};
use crate::skips::{self, Skips};
use crate::tally::Tally;
use crate::{generate, machine, process, setup, sources};
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ExitCode, Stdio};

/// Runs all steps; the last line is the sum.
pub(crate) fn run() -> Result<ExitCode> {
    setup::for_tests()?;
    let mut troubles = Vec::new();
    let mut note = |step: &str, result: Result<()>| {
        if let Err(error) = result {
            eprintln!("{step}: {error:#}");
            troubles.push(step.to_owned());
        }
    };

    heading("format");
    note("format", process::run(&mut cargo(["fmt", "--all", "--check"])));
    heading("lints");
    let lints = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    note("lints", process::run(&mut cargo(lints)));
    heading("sources");
    note("sources", check_sources());

    heading("tests");
    let log = target().join("skipped-tests.log");
    let mut tally = run_tests(&log)?;
    if tally.result.is_err() {
        try_again(&mut tally);
    }
    note("tests", tally.result);
    let skips = skipped(&log, &tally.counted)?;
    note("skipped tests", judge_skips(&skips));

    heading("generated files");
    note("generated files", generate::check());

    if !troubles.is_empty() {
        println!("not in order: {}", troubles.join(", "));
    }
    println!("{}", last_line(&tally.counted, &skips));
    Ok(if troubles.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn heading(step: &str) {
    println!("== {step}");
}

fn check_sources() -> Result<()> {
    let findings = sources::check(&root())?;
    for warning in &findings.warnings {
        println!("warning: {warning}");
    }
    anyhow::ensure!(findings.errors.is_empty(), "rules broken\n{}", findings.errors.join("\n"));
    Ok(())
}

struct TestRun {
    counted: Tally,
    result: Result<()>,
}

/// More tests than this do not fail because the machine was busy.
const SECOND_TRIES: usize = 2;

/// Runs the few tests that failed once more, each alone. Many watch real time go by (a person typing, a
/// signal in the right moment), and two cores running everything at once may stop them for a second. What
/// passes alone is told by name, with the first failure above it, and is to be mended.
fn try_again(run: &mut TestRun) {
    let names: Vec<String> = run.counted.failed_names.iter().cloned().collect();
    if names.len() != run.counted.failed || names.len() > SECOND_TRIES {
        return;
    }
    for name in names {
        println!("== trying again, alone: {name}");
        let mut again = cargo(["test", "--workspace", "--no-fail-fast", "--", "--exact", &name]);
        if process::run(&mut again).is_err() {
            return;
        }
        println!("warning: {name} failed among the others and passed alone");
        run.counted.failed -= 1;
        run.counted.passed += 1;
    }
    run.result = Ok(());
}

/// Through `cargo test` and not a faster runner, because only it runs the examples in the documentation.
fn run_tests(log: &Path) -> Result<TestRun> {
    if log.exists() {
        std::fs::remove_file(log).with_context(|| format!("could not remove {}", log.display()))?;
    }
    let mut command = cargo(["test", "--workspace", "--no-fail-fast"]);
    command.env(skips::LOG_VARIABLE, log).stdout(Stdio::piped());
    let text = written(&command);
    let mut child = command.spawn().with_context(|| format!("could not start `{text}`"))?;
    let mut counted = Tally::default();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.with_context(|| format!("could not read what `{text}` prints"))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            counted.take(&line);
        }
    }
    let status = child.wait().with_context(|| format!("could not wait for `{text}`"))?;
    let result = if status.success() { Ok(()) } else { Err(anyhow::anyhow!("`{text}` failed ({status})")) };
    Ok(TestRun { counted, result })
}

/// Tests that left early by themselves, and tests the harness was told to leave out.
fn skipped(log: &Path, counted: &Tally) -> Result<Skips> {
    let mut skips = skips::read_log(log)?;
    for name in &counted.ignored {
        skips.entry(name.clone()).or_insert_with(|| "ignored".to_owned());
    }
    Ok(skips)
}

fn judge_skips(skips: &Skips) -> Result<()> {
    if !skips.is_empty() {
        println!("== {} skipped", skips.len());
        for (name, reason) in skips {
            println!("skipped {name}: {reason}");
        }
    }
    let everything_runs_here = machine::is_root() || std::env::var_os("CI").is_some_and(|ci| ci == "true");
    if everything_runs_here {
        let list = root().join("xtask/allowed-skips.txt");
        let unexpected = skips::unexpected(skips, &skips::read_allowed(&list)?);
        anyhow::ensure!(
            unexpected.is_empty(),
            "these should have run here\n{}\nhint: mend the machine, or add them to xtask/allowed-skips.txt with a reason",
            unexpected.join("\n")
        );
    }
    Ok(())
}

/// A test that left early has been counted as passed by the harness; here it counts as skipped only. A part
/// of a test that was left out (`NAME (root caller)`) is skipped while the test itself passed.
fn last_line(counted: &Tally, skips: &Skips) -> String {
    let left_early = skips.keys().filter(|name| counted.passed_names.contains(*name)).count();
    let passed = counted.passed.saturating_sub(left_early);
    format!("{passed} passed, {} failed, {} skipped", counted.failed, skips.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_test_did_not_pass() {
        let passed_names = ["early".to_owned(), "partly".to_owned()].into();
        let ignored = vec!["slow".into()];
        let counted = Tally { passed: 10, passed_names, failed: 1, ignored, ..Tally::default() };
        let skips =
            ["slow", "early", "partly (root caller)"].map(|name| (name.to_owned(), "because".to_owned()));
        assert_eq!(last_line(&counted, &skips.into()), "9 passed, 1 failed, 3 skipped");
    }
}
