//! What a change of the settings means.

use std::path::{Path, PathBuf};
use stockade_policy::{Description, NoticeWeight, Policy, SettingsError, SettingsErrors};

/// Something that became of changed files.
#[derive(Debug)]
pub(super) enum News {
    /// Another policy holds.
    Changed(Change),
    /// The policy from before holds.
    Rejected { file: PathBuf, error: String },
}

/// The difference between two policies.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) files: Vec<PathBuf>,
    /// Files that were wrong before.
    pub(super) mended: Vec<PathBuf>,
    /// What a running gateway can take: who may be reached.
    pub(super) hosts: Vec<String>,
    /// What holds for whole commands.
    pub(super) rest: Vec<String>,
    /// What the person should know that was not said before.
    pub(super) notices: Vec<String>,
}

impl Change {
    pub(super) fn between(old: &Policy, new: &Policy, files: Vec<PathBuf>, mended: Vec<PathBuf>) -> Self {
        let mut change = Self { files, mended, ..Self::default() };
        let (before, after) = (old.describe(), new.describe());
        let (before, after) = (Line::all(&before), Line::all(&after));
        for (sign, lines, others) in [("-", &before, &after), ("+", &after, &before)] {
            for line in lines.iter().filter(|line| !others.contains(line)) {
                let told = format!("{sign} {}{}", line.text, line.holds.since());
                match line.holds {
                    Holds::AtOnce => change.hosts.push(told),
                    Holds::NextCommand | Holds::NextStart => change.rest.push(told),
                }
            }
        }
        change.tell_order(&before, &after);
        let known = old.notices();
        let fresh = new.notices().iter().filter(|notice| notice.weight == NoticeWeight::Warning);
        let fresh = fresh.filter(|notice| !known.contains(notice));
        change.notices = fresh.map(|notice| notice.text.clone()).collect();
        change
    }
}

impl Change {
    /// Of the rules about requests the first that fits decides: their order means something.
    fn tell_order(&mut self, before: &[Line], after: &[Line]) {
        let requests = |lines: &[Line]| -> Vec<String> {
            lines
                .iter()
                .filter(|line| line.text.starts_with(REQUESTS))
                .map(|line| line.text.clone())
                .collect()
        };
        let (mut before, mut after) = (requests(before), requests(after));
        let moved = before != after;
        before.sort();
        after.sort();
        if moved && before == after {
            self.hosts.push(format!("{REQUESTS} in another order"));
        }
    }
}

const REQUESTS: &str = "requests";

/// One rule or value of a policy.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    text: String,
    holds: Holds,
}

/// From when on a changed line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    AtOnce,
    NextCommand,
    /// The runtime was made with it.
    NextStart,
}

impl Holds {
    fn of_list(list: &str) -> Self {
        match list {
            "allowedDomains" | "deniedDomains" | REQUESTS => Self::AtOnce,
            _ => Self::NextCommand,
        }
    }

    fn of_key(key: &str) -> Self {
        let made_with = ["provider", "engine", "audit"].contains(&key) || key.starts_with("violations.");
        if made_with { Self::NextStart } else { Self::NextCommand }
    }

    fn since(self) -> &'static str {
        match self {
            Self::AtOnce | Self::NextCommand => "",
            Self::NextStart => " (from the next start)",
        }
    }
}

impl Line {
    fn all(description: &Description) -> Vec<Self> {
        let rules = description.rules.iter().map(|rule| Self {
            text: format!("{} {}", rule.list, rule.entry),
            holds: Holds::of_list(&rule.list),
        });
        let values = description.values.iter().map(|value| Self {
            text: format!("{} {}", value.key, value.value),
            holds: Holds::of_key(&value.key),
        });
        rules.chain(values).collect()
    }
}

/// What is wrong, file by file. What belongs to no file is the fault of the first that changed.
pub(super) fn rejections(errors: &SettingsErrors, changed: &[PathBuf]) -> Vec<(PathBuf, String)> {
    let mut told: Vec<(PathBuf, String)> = Vec::new();
    for error in &errors.0 {
        let Some(file) = file_of(error).or(changed.first().map(PathBuf::as_path)) else { continue };
        match told.iter_mut().find(|(known, _)| known == file) {
            Some((_, text)) => {
                text.push('\n');
                text.push_str(&error.to_string());
            }
            None => told.push((file.to_owned(), error.to_string())),
        }
    }
    told
}

fn file_of(error: &SettingsError) -> Option<&Path> {
    match error {
        SettingsError::Missing { path }
        | SettingsError::Unreadable { path, .. }
        | SettingsError::LeadsNowhere { path, .. }
        | SettingsError::Empty { path }
        | SettingsError::NotJson { path, .. } => Some(path),
        SettingsError::Invalid { source_name, .. } => Some(Path::new(source_name)),
        _ => None,
    }
}
