//! The built-in data files.

use crate::settings::plain;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// The default deny-read list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DenyRead {
    pub(crate) entries: Vec<DenyReadEntry>,
}

/// One entry, and what stays open inside it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DenyReadEntry {
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) open: Vec<String>,
}

/// Names under mandatory protection.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Protected {
    pub(crate) git_directory: Vec<String>,
    pub(crate) git_settings: Vec<String>,
    pub(crate) git_memory: Vec<String>,
    pub(crate) git: Vec<String>,
    pub(crate) shell: Vec<String>,
    pub(crate) ide: Vec<String>,
    pub(crate) agent: Vec<String>,
    pub(crate) srt: Vec<String>,
    pub(crate) srt_ide: Vec<String>,
}

/// Which variables cross the wall.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnvironmentLists {
    pub(crate) allow: Vec<String>,
    pub(crate) never: Vec<String>,
    pub(crate) secrets: Vec<String>,
}

/// Where tools keep their caches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Caches {
    pub(crate) variables: BTreeMap<String, String>,
    /// Names, one below the other; `*` is any.
    pub(crate) repositories: Vec<String>,
}

/// The system's own directories.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct System {
    pub(crate) directories: Vec<String>,
    pub(crate) toolchains: Vec<String>,
    pub(crate) never_workspace: Vec<String>,
    pub(crate) never_workspace_below: Vec<String>,
}

/// Unix sockets that hand out more than their name says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnixSockets {
    pub(crate) entries: Vec<UnixSocketEntry>,
}

/// One kind of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnixSocketEntry {
    pub(crate) paths: Vec<String>,
    pub(crate) gives: String,
}

/// What keeps a command from running without walls.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Commands {
    pub(crate) variables: Vec<String>,
    pub(crate) merely_named: Vec<MerelyNamed>,
    pub(crate) files: Vec<String>,
    /// Programs, and how they look for others.
    pub(crate) plugins_on_path: BTreeMap<String, String>,
    pub(crate) globals: BTreeMap<String, Globals>,
    /// Programs that run code from their standard input; `*` stands for any letters.
    pub(crate) runs_its_input: Vec<String>,
    pub(crate) never: Vec<String>,
}

/// Variables that no program obeys, but for these.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MerelyNamed {
    pub(crate) variables: Vec<String>,
    #[serde(default)]
    pub(crate) programs: Vec<String>,
    #[serde(rename = "reason")]
    _reason: String,
}

/// Options between a program and its command.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Globals {
    pub(crate) alone: Vec<String>,
    pub(crate) with_value: Vec<String>,
    /// Beginnings of values that give commands other names.
    #[serde(default)]
    pub(crate) renaming: Vec<String>,
}

/// A data file that every build carries and a test parses.
macro_rules! data_file {
    ($name:ident, $type:ty, $file:literal) => {
        pub(crate) fn $name() -> $type {
            parse($file, include_str!(concat!("../../../profiles/", $file)))
        }
    };
}

data_file!(deny_read, DenyRead, "deny-read.json");
data_file!(protected, Protected, "protected.json");
data_file!(environment, EnvironmentLists, "environment.json");
data_file!(caches, Caches, "caches.json");
data_file!(system, System, "system.json");
data_file!(unix_sockets, UnixSockets, "unix-sockets.json");
data_file!(review, crate::review::ReviewList, "review.json");
data_file!(commands, Commands, "commands.json");
data_file!(git_config, crate::git::GitKeys, "git-config.json");

fn parse<T: DeserializeOwned>(file: &str, text: &str) -> T {
    match serde_json::from_str(&plain(text)) {
        Ok(data) => data,
        // Going on without a protection list would be worse than stopping.
        Err(error) => panic!("the built-in file {file} is broken: {error}"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_parses() {
        assert!(super::deny_read().entries.len() > 50);
        assert!(super::protected().git_directory.contains(&"hooks".to_owned()));
        assert!(super::environment().allow.contains(&"PATH".to_owned()));
        let caches = super::caches();
        assert!(caches.variables.values().all(|value| value.contains("{cache}/")));
        for place in &caches.repositories {
            let top = place.split('/').next().unwrap();
            assert!(
                caches.variables.values().any(|value| value.ends_with(&format!("{{cache}}/{top}"))),
                "{place}"
            );
            assert!(
                place.split('/').all(|name| name == "*" || !name.is_empty() && !name.contains('*')),
                "{place}"
            );
        }
        assert!(super::system().directories.contains(&"/usr".to_owned()));
        assert!(super::commands().variables.contains(&"LD_*".to_owned()));
        assert!(super::unix_sockets().entries.len() > 10);
    }
}
