//! The built-in data files. What every start reads is not copied out of them.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The default deny-read list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub(crate) struct DenyRead {
    pub(crate) entries: Vec<DenyReadEntry>,
}

/// One entry, and what stays open inside it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DenyReadEntry {
    pub(crate) path: &'static str,
    #[serde(default)]
    pub(crate) open: Vec<&'static str>,
}

/// Names under mandatory protection.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub(crate) struct Protected {
    pub(crate) git_directory: Vec<&'static str>,
    pub(crate) git_settings: Vec<&'static str>,
    pub(crate) git_memory: Vec<&'static str>,
    pub(crate) git: Vec<&'static str>,
    pub(crate) shell: Vec<&'static str>,
    pub(crate) ide: Vec<&'static str>,
    pub(crate) agent: Vec<&'static str>,
    pub(crate) srt: Vec<&'static str>,
    pub(crate) srt_ide: Vec<&'static str>,
}

/// Which variables cross the wall.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub(crate) struct EnvironmentLists {
    pub(crate) allow: Vec<&'static str>,
    pub(crate) never: Vec<&'static str>,
    pub(crate) secrets: Vec<&'static str>,
}

/// Where tools keep their caches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub(crate) struct Caches {
    pub(crate) variables: BTreeMap<&'static str, &'static str>,
    /// Names, one below the other; `*` is any.
    pub(crate) repositories: Vec<&'static str>,
}

/// The system's own directories.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub(crate) struct System {
    pub(crate) directories: Vec<&'static str>,
    pub(crate) toolchains: Vec<&'static str>,
    pub(crate) never_workspace: Vec<&'static str>,
    pub(crate) never_workspace_below: Vec<&'static str>,
}

/// Unix sockets that hand out more than their name says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub(crate) struct UnixSockets {
    pub(crate) entries: Vec<UnixSocketEntry>,
}

/// One kind of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnixSocketEntry {
    pub(crate) paths: Vec<&'static str>,
    pub(crate) gives: &'static str,
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

/// A file of the program's own, without its comments.
macro_rules! plain_file {
    ($file:expr) => {{
        const TEXT: &[u8] = include_bytes!(concat!("../../../profiles/", $file));
        const PLAIN: [u8; TEXT.len()] = {
            let mut plain = [0; TEXT.len()];
            plain.copy_from_slice(TEXT);
            $crate::settings::blank(&mut plain);
            plain
        };
        &PLAIN
    }};
}
pub(crate) use plain_file;

/// A data file that every build carries and a test parses.
macro_rules! data_file {
    ($name:ident, $type:ty, $file:literal) => {
        pub(crate) fn $name() -> $type {
            parse($file, plain_file!($file))
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

pub(crate) fn parse<T: Deserialize<'static>>(file: &str, plain: &'static [u8]) -> T {
    match serde_json::from_slice(plain) {
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
        assert!(super::protected().git_directory.contains(&"hooks"));
        assert!(super::environment().allow.contains(&"PATH"));
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
        assert!(super::system().directories.contains(&"/usr"));
        assert!(super::commands().variables.contains(&"LD_*".to_owned()));
        assert!(super::unix_sockets().entries.len() > 10);
    }
}
