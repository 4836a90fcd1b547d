//! What trust in a project's settings changes.

use super::check::{With, check};
use crate::voice::Level;
use std::path::{Path, PathBuf};
use stockade::{
    Files, Layer, Notice, NoticeWeight, RealFiles, Runtime, SettingsErrors, SettingsFile, Standing, Trust,
    visible,
};

/// Between what was not heard and why.
const IGNORED: &str = " is ignored: ";
/// More warnings about one file than these are said in one.
const FEW: usize = 3;

/// What a project's file says beyond what an untrusted one may say.
#[derive(Debug, Default)]
pub(super) struct Loosening {
    /// What is heard once it is trusted.
    pub(super) heard: Vec<String>,
    /// What no project may say.
    pub(super) never: Vec<String>,
}

impl Loosening {
    /// Looks at a project's file. One that is wrong is an error.
    pub(super) fn of(file: SettingsFile, content: &[u8]) -> Result<Self, SettingsErrors> {
        let path = file.path.clone();
        let with = With { path: &path, content };
        let trusted = SettingsFile { trust: Trust::Trusted, ..file.clone() };
        let untrusted = SettingsFile { trust: Trust::Untrusted, ..file };
        let before = warnings(check(untrusted, &with)?);
        let after = warnings(check(trusted, &with)?);
        // The reasons differ between the two, what they are for does not.
        let still = |text: &str| after.iter().any(|left| subject(left) == subject(text));
        let gone = before.iter().filter(|text| !still(text));
        let never = after.iter().filter(|text| text.contains(IGNORED));
        let named = |text: &String| within(&path, subject(text));
        Ok(Self { heard: gone.map(named).collect(), never: never.map(named).collect() })
    }
}

/// Warnings as they are said to somebody who runs a command. Those about one project's file are one warning
/// where they are many, and how it would be heard stands beside the first.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    hints: Vec<TrustHint>,
    crowds: Vec<Crowd>,
}

/// A warning that a file's words were not heard, and how they would be.
#[derive(Debug)]
struct TrustHint {
    text: String,
    path: PathBuf,
}

/// Many warnings about one file.
#[derive(Debug)]
struct Crowd {
    path: PathBuf,
    count: usize,
    told: Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Not,
    Already,
}

impl Warnings {
    /// Those of a runtime's settings, as many as somebody who asked for this much wants to hear.
    pub(crate) fn of(runtime: &Runtime, level: Level) -> Self {
        if level < Level::Normal {
            return Self::default();
        }
        let policy = runtime.policy();
        let ignored: Vec<&Notice> =
            policy.notices().iter().filter(|notice| notice.text.contains(IGNORED)).collect();
        if ignored.is_empty() {
            return Self::default();
        }
        let files: Vec<_> =
            runtime.settings_files().into_iter().filter(|(file, _)| file.layer == Layer::Project).collect();
        let crowd = |(file, _): &(SettingsFile, Standing)| {
            let count =
                ignored.iter().filter(|notice| notice.text.starts_with(&beginning(&file.path))).count();
            let many = count > FEW && level < Level::Verbose;
            many.then(|| Crowd { path: file.path.clone(), count, told: Told::Not })
        };
        let crowds = files.iter().filter_map(crowd).collect();
        // Files that were trusted and have changed since are told in another place.
        let untrusted = files.into_iter().filter(|(_, standing)| *standing == Standing::Unknown);
        let hints = untrusted.filter_map(|(file, _)| TrustHint::of(file, &ignored)).collect();
        Self { hints, crowds }
    }

    /// What is said of a notice; nothing where that was said of another one.
    pub(crate) fn word(&mut self, notice: &Notice) -> Option<String> {
        let ignored = notice.text.contains(IGNORED);
        let of_crowd = |crowd: &&mut Crowd| ignored && notice.text.starts_with(&beginning(&crowd.path));
        if let Some(crowd) = self.crowds.iter_mut().find(of_crowd) {
            let told = std::mem::replace(&mut crowd.told, Told::Already);
            let hint = self.hints.iter().find(|hint| hint.path == crowd.path);
            return (told == Told::Not).then(|| crowd.text(hint));
        }
        let text = visible(&notice.text);
        Some(match self.hints.iter().find(|hint| hint.text == notice.text) {
            Some(hint) => format!("{text}\nhint: or {}", hint.words()),
            None => text.into_owned(),
        })
    }
}

impl Crowd {
    fn text(&self, hint: Option<&TrustHint>) -> String {
        let Self { path, count, .. } = self;
        let path = path.display().to_string();
        let mut text = format!(
            "{count} settings of {} are ignored: a project may only tighten\nhint: `stockade config show` lists them",
            visible(&path)
        );
        if let Some(hint) = hint {
            text.push_str(&format!("; to hear them, {}", hint.words()));
        }
        text
    }
}

impl TrustHint {
    /// For a project's file that is not heard and would be if it were trusted, beside the first warning.
    fn of(file: SettingsFile, ignored: &[&Notice]) -> Option<Self> {
        let path = file.path.clone();
        let content = RealFiles.read(&path).ok()?;
        let Loosening { heard, .. } = Loosening::of(file, &content).ok()?;
        let mut ours = ignored.iter().filter(|notice| notice.text.starts_with(&beginning(&path)));
        let first = ours.find(|notice| heard.contains(&within(&path, subject(&notice.text))))?;
        Some(Self { text: first.text.clone(), path })
    }

    fn words(&self) -> String {
        let path = self.path.display().to_string();
        format!("read the file, then `stockade config trust {}`", visible(&path))
    }
}

fn warnings(notices: Vec<Notice>) -> Vec<String> {
    let loud = notices.into_iter().filter(|notice| notice.weight == NoticeWeight::Warning);
    loud.map(|notice| notice.text).collect()
}

/// What a warning is for, without its reason.
fn subject(text: &str) -> &str {
    text.rsplit_once(IGNORED).map_or(text, |(subject, _)| subject)
}

/// A subject without the name of its file.
fn within(path: &Path, subject: &str) -> String {
    subject.strip_prefix(&beginning(path)).unwrap_or(subject).to_owned()
}

fn beginning(path: &Path) -> String {
    format!("{} ", path.display())
}
