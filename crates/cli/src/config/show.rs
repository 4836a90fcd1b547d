//! `stockade config show`.

use crate::args::ShowArgs;
use crate::voice::Voice;
use crate::{print, refuse};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use stockade::{Description, Layer, NoticeWeight, SettingsFile, Standing, visible};

/// Longer words do not widen the whole column.
const WIDEST: usize = 48;

/// Prints the policy that these options make.
pub(crate) fn main(args: ShowArgs) -> ExitCode {
    let ShowArgs { policy, all, json } = args;
    let runtime = match policy.runtime(|builder| builder) {
        Ok(runtime) => runtime,
        Err(error) => return refuse(Voice::NORMAL, error),
    };
    let description = runtime.policy().describe();
    let files = runtime.settings_files();
    if json {
        return print::json(&as_json(&description, &files));
    }
    let shown = if all { Shown::Everything } else { Shown::Said };
    print::text(&text(&description, &files, shown))
}

/// Which rules are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// Those that somebody said.
    Said,
    /// Those that are built in, too.
    Everything,
}

/// The description, with the files that could be there and how they stand.
fn as_json(description: &Description, files: &[(SettingsFile, Standing)]) -> Value {
    let mut value = serde_json::to_value(description).unwrap_or_default();
    let rows = files.iter().map(|(file, standing)| {
        json!({
            "path": file.path, "layer": file.layer, "shape": file.shape,
            "read": was_read(description, &file.path), "standing": standing,
        })
    });
    value["files"] = rows.collect();
    value
}

fn was_read(description: &Description, path: &PathBuf) -> bool {
    description.files.iter().any(|file| file.path == *path)
}

fn text(description: &Description, files: &[(SettingsFile, Standing)], shown: Shown) -> String {
    let workspace = description.workspace.to_string_lossy();
    let mut text = format!("preset {}, workspace {}\n", description.preset, visible(&workspace));
    text.push_str("\nfiles, weakest first\n");
    for (file, standing) in files {
        let state = match (was_read(description, &file.path), standing) {
            (false, _) => "not there".to_owned(),
            (true, Standing::Trusted) => format!("{} settings, trusted", file.shape.owner()),
            (true, Standing::Changed) => {
                format!("{} settings, not trusted any more: changed", file.shape.owner())
            }
            (true, _) => format!("{} settings", file.shape.owner()),
        };
        let path = file.path.to_string_lossy();
        let _ = writeln!(text, "  {:8} {} ({state})", layer(file.layer), visible(&path));
    }
    let values: Vec<[String; 3]> = description
        .values
        .iter()
        .map(|value| [value.key.clone(), plain(&value.value), value.origin.to_string()].map(shown_whole))
        .collect();
    table(&mut text, "values", &values);
    let built_in = description.rules.iter().filter(|rule| rule.origin.layer == Layer::BuiltIn).count();
    let rules: Vec<[String; 3]> = description
        .rules
        .iter()
        .filter(|rule| shown == Shown::Everything || rule.origin.layer != Layer::BuiltIn)
        .map(|rule| [rule.list.clone(), rule.entry.clone(), rule.origin.to_string()].map(shown_whole))
        .collect();
    table(&mut text, "rules", &rules);
    if shown == Shown::Said && built_in > 0 {
        let _ = writeln!(text, "  and {built_in} that are built in (--all lists them)");
    }
    let warnings = description.notices.iter().filter(|notice| notice.weight == NoticeWeight::Warning);
    for (at, notice) in warnings.enumerate() {
        text.push_str(if at == 0 { "\nwarnings\n" } else { "" });
        let _ = writeln!(text, "  {}", visible(&notice.text));
    }
    text
}

fn table(text: &mut String, title: &str, rows: &[[String; 3]]) {
    let width = |column: usize| {
        let lengths = rows.iter().map(|row| row[column].chars().count());
        lengths.filter(|length| *length <= WIDEST).max().unwrap_or_default()
    };
    let (first, second) = (width(0), width(1));
    let _ = writeln!(text, "\n{title}");
    for [key, value, origin] in rows {
        let _ = writeln!(text, "  {key:first$}  {value:second$}  {origin}");
    }
}

/// What a project wrote may not pass for a line of ours.
fn shown_whole(text: String) -> String {
    visible(&text).into_owned()
}

/// Text without quotes, everything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn layer(layer: Layer) -> &'static str {
    match layer {
        Layer::BuiltIn => "built in",
        Layer::Preset => "preset",
        Layer::Project => "project",
        Layer::User => "user",
        Layer::Flag => "flag",
        Layer::Grant => "grant",
        Layer::Managed => "managed",
    }
}
