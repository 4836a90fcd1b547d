//! `stockade config validate`.

use super::check::{check, layer_of};
use crate::print;
use crate::voice::Voice;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use stockade::{NoticeWeight, RealFiles, SettingsErrors, SettingsFile, Shape, visible};

/// Says of each file whether it is in order.
pub(crate) fn main(shape: Option<Shape>, files: &[PathBuf]) -> ExitCode {
    let mut wrong = false;
    let mut text = String::new();
    for path in files {
        match validate(path, shape) {
            Ok((shape, warnings)) => {
                let name = path.to_string_lossy();
                text.push_str(&format!("{}: in order, {} settings\n", visible(&name), shape.owner()));
                for warning in warnings {
                    text.push_str(&format!("  {}\n", visible(&warning)));
                }
            }
            Err(errors) => {
                wrong = true;
                Voice::NORMAL.error(errors);
            }
        }
    }
    let printed = print::text(&text);
    if wrong { ExitCode::FAILURE } else { printed }
}

fn validate(path: &Path, shape: Option<Shape>) -> Result<(Shape, Vec<String>), SettingsErrors> {
    let place = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let layer = layer_of(&place);
    let file = match shape {
        Some(shape) => SettingsFile::named(place, layer).in_shape(shape),
        None => SettingsFile::detected(place, layer, &RealFiles)?,
    };
    let shape = file.shape;
    let notices = check(file, &RealFiles)?;
    let warnings = notices.into_iter().filter(|notice| notice.weight == NoticeWeight::Warning);
    Ok((shape, warnings.map(|notice| notice.text).collect()))
}
