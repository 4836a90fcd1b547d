//! `stockade apply`.

use super::{Refusal, changes, meant};
use crate::args::ApplyArgs;
use crate::refuse;
use crate::voice::{Level, Manner, Voice};
use std::process::ExitCode;
use stockade::{Applied, Apply, CommandLine, OnConflict, Runtime, quoted};

/// Brings what an overlay holds into its workspace.
pub(crate) fn main(args: ApplyArgs) -> ExitCode {
    let level = if args.quiet { Level::Quiet } else { Level::Normal };
    let voice = Voice { level, manner: Manner::Stockade };
    apply(args, voice).unwrap_or_else(|error| refuse(voice, error))
}

fn apply(args: ApplyArgs, voice: Voice) -> Result<ExitCode, Refusal> {
    let (mut overlay, selection) = meant(args.words)?;
    // What commands in the workspace may not change, nobody changes for them.
    let runtime = Runtime::builder().cwd(overlay.workspace()).build()?;
    let prepared = runtime.prepare(runtime.request(CommandLine::Argv(vec!["true".into()])))?;
    let on_conflict = if args.force { OnConflict::Overwrite } else { OnConflict::Refuse };
    let applied = overlay.apply(&Apply { selection: &selection, on_conflict, plan: &prepared.plan })?;
    let label = overlay.label();
    tell(voice, &applied, &label);
    match applied.remaining {
        0 => overlay.discard()?,
        count => voice.closing(format!("overlay {label} still holds {}", changes(count))),
    }
    Ok(if applied.left_out.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell(voice: Voice, applied: &Applied, label: &str) {
    let count = applied.changes.len();
    let were = if count == 1 { "was" } else { "were" };
    voice.closing(format!("{} of overlay {label} {were} applied", changes(count)));
    // Said even to those who asked for quiet: they believe that everything was applied.
    let voice = Voice { level: Level::Normal, ..voice };
    for left in &applied.left_out {
        voice.warning(format!("left out: {}: {}", quoted(&left.path), left.reason));
    }
}
