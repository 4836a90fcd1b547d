//! `stockade diff`.

use super::{Refusal, meant};
use crate::args::DiffArgs;
use crate::voice::{Voice, harmless};
use crate::{print, refuse};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use stockade::{Change, Entry, Overlay, quoted};

/// Shows what an overlay holds.
pub(crate) fn main(args: DiffArgs) -> ExitCode {
    show(args).unwrap_or_else(|error| refuse(Voice::NORMAL, error))
}

fn show(args: DiffArgs) -> Result<ExitCode, Refusal> {
    let (overlay, selection) = meant(args.words)?;
    let changes = overlay.selected(&selection)?;
    if args.json {
        let list = changes.iter().map(|change| as_json(&overlay, change)).collect::<Result<Vec<_>, _>>()?;
        return Ok(print::json(&list));
    }
    if args.name_only {
        return Ok(print::text(&names(&changes)));
    }
    if args.stat {
        return Ok(print::text(&statistics(&overlay, &changes)?));
    }
    let mut text = Vec::new();
    overlay.write_diff(&changes, &mut text)?;
    // A terminal would obey what files say; other programs want them as they are.
    Ok(if std::io::stdout().is_terminal() {
        print::text(&harmless(&String::from_utf8_lossy(&text)))
    } else {
        print::bytes(&text)
    })
}

fn names(changes: &[Change]) -> String {
    let mut text = String::new();
    for change in changes {
        let _ = writeln!(text, "{} {}", change.kind().letter(), quoted(&change.path));
    }
    text
}

fn statistics(overlay: &Overlay, changes: &[Change]) -> Result<String, Refusal> {
    let mut text = String::new();
    let (mut added, mut removed) = (0, 0);
    for change in changes {
        let lines = match overlay.count(change)? {
            Some(counted) => {
                added += counted.added;
                removed += counted.removed;
                format!("+{} -{}", counted.added, counted.removed)
            }
            None => "binary".to_owned(),
        };
        let _ = writeln!(text, "{} {} {lines}", change.kind().letter(), quoted(&change.path));
    }
    let _ = writeln!(text, "{} paths changed, {added} lines added, {removed} removed", changes.len());
    Ok(text)
}

fn as_json(overlay: &Overlay, change: &Change) -> Result<Value, Refusal> {
    let entry = |entry: Entry| json!({ "kind": entry.kind.name(), "mode": entry.mode, "size": entry.size });
    let mut value = json!({
        "path": change.path.to_string_lossy(),
        "change": change.kind().name(),
        "before": change.before.map(entry),
        "after": change.after.map(entry),
    });
    // A path that is no text is told byte by byte as well.
    if change.path.to_str().is_none() {
        value["pathBytes"] = change.path.as_os_str().as_bytes().into();
    }
    if let Some(counted) = overlay.count(change)? {
        value["linesAdded"] = counted.added.into();
        value["linesRemoved"] = counted.removed.into();
    }
    Ok(value)
}
