//! The named policies.

use crate::settings::native::Settings;
use crate::settings::plain;

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
        [$(($name, include_str!(concat!("../../../profiles/presets/", $name, ".json")))),*]
    };
}

const PRESETS: [(&str, &str); 9] = preset_files![
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
    PRESETS.iter().map(|(name, text)| PresetInfo { name, summary: summary(text), text }).collect()
}

/// The names, for messages.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The settings of one preset, if there is one of that name.
pub(crate) fn find(name: &str) -> Option<(&'static str, Settings)> {
    let (name, text) = PRESETS.iter().find(|(known, _)| *known == name)?;
    match serde_json::from_str(&plain(text)) {
        Ok(settings) => Some((name, settings)),
        // A test parses every preset; a broken one must not turn into an empty policy.
        Err(error) => panic!("the built-in preset {name} is broken: {error}"),
    }
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
