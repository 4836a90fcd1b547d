//! `stockade discard`.

use super::{Refusal, here, store};
use crate::args::DiscardArgs;
use crate::voice::Voice;
use crate::{print, refuse};
use std::process::ExitCode;
use stockade::quoted;

/// Throws away what overlays hold.
pub(crate) fn main(args: DiscardArgs) -> ExitCode {
    discard(args).unwrap_or_else(|error| refuse(Voice::NORMAL, error))
}

fn discard(args: DiscardArgs) -> Result<ExitCode, Refusal> {
    let store = store();
    let overlays = match args.id {
        _ if args.all => store.list()?,
        Some(id) => vec![store.open(&id, &here()?)?],
        None => vec![store.only(&here()?)?],
    };
    let mut text = String::new();
    for overlay in overlays {
        let line = format!("discarded overlay {} of {}\n", overlay.label(), quoted(&overlay.workspace()));
        overlay.discard()?;
        text.push_str(&line);
    }
    if text.is_empty() {
        text.push_str("no overlays\n");
    }
    Ok(print::text(&text))
}
