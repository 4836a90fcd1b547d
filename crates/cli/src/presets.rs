//! `stockade presets`.

use crate::print;
use crate::voice::Voice;
use std::process::ExitCode;

/// Lists the presets, or prints one as it is written.
pub(crate) fn main(name: Option<&str>) -> ExitCode {
    let presets = stockade::presets();
    let Some(name) = name else {
        let width = presets.iter().map(|preset| preset.name.len()).max().unwrap_or(0);
        let lines: String =
            presets.iter().map(|preset| format!("{:width$}  {}\n", preset.name, preset.summary)).collect();
        return print::text(&lines);
    };
    match presets.iter().find(|preset| preset.name == name) {
        Some(preset) => print::text(preset.text),
        None => {
            let names: Vec<&str> = presets.iter().map(|preset| preset.name).collect();
            Voice::NORMAL.error(format!("there is no preset `{name}`\nhint: there are {}", names.join(", ")));
            ExitCode::FAILURE
        }
    }
}
