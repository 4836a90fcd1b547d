//! `stockade overlays`.

use super::{Refusal, changes, shown, store};
use crate::args::format_moment;
use crate::voice::Voice;
use crate::{print, refuse};
use serde_json::json;
use std::fmt::Write;
use std::process::ExitCode;
use stockade::{Overlay, quoted};

/// How the list is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

/// Lists overlays.
pub(crate) fn main(form: Form) -> ExitCode {
    list(form).unwrap_or_else(|error| refuse(Voice::NORMAL, error))
}

fn list(form: Form) -> Result<ExitCode, Refusal> {
    let overlays = store().list()?;
    Ok(match form {
        Form::Json => shown::json(&overlays.iter().map(as_json).collect::<Vec<_>>()),
        Form::Text if overlays.is_empty() => print::text("no overlays\n"),
        Form::Text => print::text(&table(&overlays)),
    })
}

fn table(overlays: &[Overlay]) -> String {
    let mut text = String::new();
    for overlay in overlays {
        let name = overlay.name().map(|name| format!(" {name}")).unwrap_or_default();
        let _ = writeln!(text, "{}{name}  {}", overlay.id(), quoted(&overlay.workspace()));
        let _ = writeln!(text, "    made {}, {}", format_moment(overlay.created()), held(overlay));
    }
    text
}

fn held(overlay: &Overlay) -> String {
    match overlay.changes() {
        Ok(held) => changes(held.len()),
        // One that cannot be looked at must not hide the others.
        Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}

fn as_json(overlay: &Overlay) -> serde_json::Value {
    json!({
        "id": overlay.id(),
        "name": overlay.name(),
        "workspace": overlay.workspace().to_string_lossy(),
        "created": overlay.created(),
        "changes": overlay.changes().ok().map(|changes| changes.len()),
    })
}
