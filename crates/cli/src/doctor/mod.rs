//! `stockade doctor`: which walls this machine offers, and whether they hold.

mod findings;
mod stage;

use crate::print;
use crate::voice::Voice;
use crate::witness::{Act, Testimony};
use findings::{Finding, Findings, LayerFinding};
use stage::{NAMED, Stage, StageError};
use std::process::ExitCode;
use std::sync::Arc;
use stockade::{CommandLine, Event, Exit, Prepared, Runtime, Stdio, UnixSockets, WallLayer, Wiring};

/// How the findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

/// The walls could not be tried.
#[derive(Debug, thiserror::Error)]
enum TrialError {
    #[error(transparent)]
    Stage(#[from] StageError),
    #[error(transparent)]
    Build(#[from] stockade::BuildError),
    #[error(transparent)]
    Prepare(#[from] stockade::PrepareError),
    #[error(transparent)]
    Start(#[from] stockade::StartError),
    #[error("cannot watch a sandbox: {0}")]
    Reactor(std::io::Error),
}

/// Asks the kernel, tries every wall, prints what was found.
pub(crate) fn main(form: Form) -> ExitCode {
    let layers = stockade::probe().into_iter().map(LayerFinding::from).collect();
    let (acts, error) = match trials() {
        Ok(acts) => (acts, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let findings =
        Findings { holds: error.is_none() && acts.iter().all(|act| act.held), layers, acts, error };
    match form {
        Form::Json => print::json(&findings),
        Form::Text => print::text(&findings.to_string()),
    };
    if let Some(error) = findings.error.as_ref().filter(|_| form == Form::Text) {
        Voice::NORMAL.error(format!("no sandbox could be started: {error}"));
    }
    if findings.holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn trials() -> Result<Vec<Finding>, TrialError> {
    let reactor = crate::reactor::build().map_err(TrialError::Reactor)?;
    let stage = Stage::build()?;
    let runtime = stage.runtime()?;
    let mut findings = Vec::new();
    for act in Act::ALL {
        let testimony = reactor.block_on(trial(&stage, &runtime, *act))?;
        findings.push(Finding::new(*act, testimony));
    }
    Ok(findings)
}

async fn trial(stage: &Stage, runtime: &Runtime, act: Act) -> Result<Testimony, TrialError> {
    let mut prepared: Prepared = runtime.prepare(runtime.request(CommandLine::Argv(stage.words(act))))?;
    if act.layer() == WallLayer::Landlock {
        // The broker judges such acts before the kernel does; the wall behind it is tried alone.
        let plan = Arc::make_mut(&mut prepared.plan);
        plan.broker = None;
        plan.syscalls.unix_sockets = UnixSockets::PairsOnly;
        plan.layers.retain(|need| need.layer != WallLayer::Broker);
    }
    let mut wiring = Wiring::captured();
    wiring.stdio[0] = Stdio::Descriptor(stage.open("input")?);
    wiring.descriptors.push((stage.open("open")?, NAMED));
    let mut running = runtime.start(prepared, wiring).await?;
    let mut output = Vec::new();
    let mut ending = "the witness was lost".to_owned();
    while let Some(event) = running.next().await {
        match event {
            Event::Stdout { data } => output.extend(data),
            Event::Exited(outcome) => {
                ending = match outcome.exit {
                    Exit::Signal { signal } => format!("killed by signal {signal}"),
                    exit => format!("ended with status {}", exit.status()),
                };
            }
            _ => {}
        }
    }
    Ok(Testimony::read(&output, &ending))
}
