//! `stockade diff`.

use super::shown::{Shown, json};
use super::{Refusal, meant};
use crate::args::DiffArgs;
use crate::voice::Voice;
use crate::{print, refuse};
use serde_json::Value;
use std::fmt::Write;
use std::io::{self, BufWriter, IsTerminal};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use stockade::{Change, Entry, Lines, Overlay, OverlayError, quoted};

/// Shows what an overlay holds.
pub(crate) fn main(args: DiffArgs) -> ExitCode {
    show(args).unwrap_or_else(|error| refuse(Voice::NORMAL, error))
}

fn show(args: DiffArgs) -> Result<ExitCode, Refusal> {
    let (overlay, selection) = meant(args.words)?;
    let changes = overlay.selected(&selection)?;
    if args.json {
        let lines = overlay.count(&changes)?;
        let list: Vec<Value> =
            changes.iter().zip(lines).map(|(change, lines)| as_json(change, lines)).collect();
        return Ok(json(&list));
    }
    if args.name_only {
        return Ok(print::text(&names(&changes)));
    }
    if args.stat {
        return Ok(print::text(&statistics(&overlay, &changes)?));
    }
    let out = BufWriter::new(std::io::stdout().lock());
    // Programs want what files say as it is.
    if std::io::stdout().is_terminal() {
        write(&overlay, &changes, &mut Shown::new(out))
    } else {
        write(&overlay, &changes, &mut { out })
    }
}

fn write(overlay: &Overlay, changes: &[Change], out: &mut dyn io::Write) -> Result<ExitCode, Refusal> {
    let written = match overlay.write_diff(changes, out) {
        Ok(()) => out.flush(),
        Err(OverlayError::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => Err(source),
        Err(error) => return Err(error.into()),
    };
    match written {
        // A reader that has seen enough is not a failure; a full disk is.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Ok(ExitCode::FAILURE),
        _ => Ok(ExitCode::SUCCESS),
    }
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
    for (change, lines) in changes.iter().zip(overlay.count(changes)?) {
        let lines = match lines {
            Lines::Counted(counted) => {
                added += counted.added;
                removed += counted.removed;
                format!("+{} -{}", counted.added, counted.removed)
            }
            Lines::Unshown(unshown) => unshown.name().to_owned(),
        };
        let _ = writeln!(text, "{} {} {lines}", change.kind().letter(), quoted(&change.path));
    }
    let many = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let (paths, added) = (many(changes.len(), "path"), many(added, "line"));
    let _ = writeln!(text, "{paths} changed, {added} added, {removed} removed");
    Ok(text)
}

fn as_json(change: &Change, lines: Lines) -> Value {
    let entry = |entry: Entry| serde_json::json!({ "kind": entry.kind.name(), "mode": entry.mode, "size": entry.size });
    let mut value = serde_json::json!({
        "path": change.path.to_string_lossy(),
        "change": change.kind().name(),
        "before": change.before.map(entry),
        "after": change.after.map(entry),
    });
    // A path that is no text is told byte by byte as well.
    if change.path.to_str().is_none() {
        value["pathBytes"] = change.path.as_os_str().as_bytes().into();
    }
    match lines {
        Lines::Counted(counted) => {
            value["linesAdded"] = counted.added.into();
            value["linesRemoved"] = counted.removed.into();
        }
        Lines::Unshown(unshown) => value["notShown"] = unshown.name().into(),
    }
    value
}
