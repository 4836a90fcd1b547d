//! `stockade plan`.

use crate::args::{AskTarget, RunArgs};
use crate::overlay::Held;
use crate::voice::{Level, Voice};
use crate::{print, refuse, run};
use std::process::ExitCode;
use stockade::{Builder, CommandLine, Reply};

/// Prints the plan the command would run under.
pub(crate) fn main(args: RunArgs) -> ExitCode {
    // The plan does not depend on the command's words as long as there are some.
    let command = args.command_line().unwrap_or_else(|| CommandLine::Argv(vec!["true".into()]));
    // The plan differs where somebody can be asked; a plan asks nobody.
    let held = match Held::begin(args.overlay.as_ref().map(Option::as_deref), &args.policy.directory()) {
        Ok(held) => held,
        Err(error) => return refuse(Voice::NORMAL, error),
    };
    let more = |builder: Builder| match args.ask {
        AskTarget::Deny => held.give(builder),
        _ => held.give(builder.asker(|_| async { Reply::Deny })),
    };
    let runtime = match run::runtime(args.policy, &args.absent, args.provider, args.engine, more) {
        Ok(runtime) => runtime,
        Err(error) => return refuse(Voice::NORMAL, error),
    };
    let status = match runtime.prepare(runtime.request(command)) {
        Ok(prepared) => print::json(&*prepared.plan),
        Err(error) => refuse(Voice::NORMAL, error),
    };
    // Nothing ran, so that a new overlay holds nothing.
    held.end(Voice { level: Level::Quiet, ..Voice::NORMAL });
    status
}
