//! The named policies.

use crate::data::{parse, plain_file};
use crate::settings::native::Settings;

/// A named policy.
#[derive(Clone, Debug)]
pub struct PresetInfo {
    /// Its name.
    pub name: &'static str,
    /// What it is for, in one line.
    pub summary: String,
    /// The data file, comments and all.
    pub text: &'static str,
}

macro_rules! preset_files {
    ($($name:literal),*) => {
        [$(Preset {
            name: $name,
            text: include_str!(concat!("../../../profiles/presets/", $name, ".json")),
            plain: plain_file!(concat!("presets/", $name, ".json")),
        }),*]
    };
}

/// A preset's data file, with its comments and without.
struct Preset {
    name: &'static str,
    text: &'static str,
    plain: &'static [u8],
}

static PRESETS: [Preset; 9] = preset_files![
    "default",
    "strict",
    "development",
    "testing",
    "production",
    "docker",
    "webscraping",
    "aicode",
    "unrestricted"
];

/// The preset that runs without walls.
pub(crate) const UNRESTRICTED: &str = "unrestricted";
/// The preset used when nobody names one.
pub(crate) const DEFAULT: &str = "default";

/// Every preset there is.
pub fn presets() -> Vec<PresetInfo> {
    PRESETS
        .iter()
        .map(|Preset { name, text, .. }| PresetInfo { name, summary: summary(text), text })
        .collect()
}

/// The names, for messages.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// The settings of one preset, if there is one of that name.
pub(crate) fn find(name: &str) -> Option<(&'static str, Settings)> {
    let preset = PRESETS.iter().find(|known| known.name == name)?;
    Some((preset.name, parse(preset.name, preset.plain)))
}

fn summary(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_start_matches("//").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{find, presets};

    #[test]
    fn every_preset_parses_and_says_what_it_is_for() {
        for preset in presets() {
            assert!(preset.summary.ends_with('.'), "{}", preset.name);
            assert!(find(preset.name).is_some(), "{}", preset.name);
        }
    }
}
