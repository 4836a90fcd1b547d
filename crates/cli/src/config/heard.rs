//! What trust in a project's settings changes.

use super::check::{With, check};
use std::path::Path;
use stockade::{
    Files, Layer, Notice, NoticeWeight, RealFiles, Runtime, SettingsErrors, SettingsFile, Standing, Trust,
    visible,
};

/// Between what was not heard and why.
const IGNORED: &str = " is ignored: ";

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

/// A warning that a file's words were not heard, and how they would be.
#[derive(Debug)]
pub(crate) struct TrustHint {
    text: String,
    hint: String,
}

impl TrustHint {
    /// A notice as it is shown, with its hint where there is one.
    pub(crate) fn beside(hints: &[Self], notice: &Notice) -> String {
        let text = visible(&notice.text);
        match hints.iter().find(|hint| hint.text == notice.text) {
            Some(Self { hint, .. }) => format!("{text}\nhint: {}", visible(hint)),
            None => text.into_owned(),
        }
    }
}

/// For each project's file that is not heard and would be if it were trusted, a hint beside the first warning.
/// Files that were trusted and have changed since are told in another place.
pub(crate) fn trust_hints(runtime: &Runtime) -> Vec<TrustHint> {
    let policy = runtime.policy();
    let ignored: Vec<&Notice> =
        policy.notices().iter().filter(|notice| notice.text.contains(IGNORED)).collect();
    if ignored.is_empty() {
        return Vec::new();
    }
    let files = runtime.settings_files().into_iter();
    let files =
        files.filter(|(file, standing)| file.layer == Layer::Project && *standing == Standing::Unknown);
    let hint = |(file, _): (SettingsFile, Standing)| {
        let path = file.path.clone();
        let content = RealFiles.read(&path).ok()?;
        let Loosening { heard, .. } = Loosening::of(file, &content).ok()?;
        let mut ours = ignored.iter().filter(|notice| notice.text.starts_with(&beginning(&path)));
        let first = ours.find(|notice| heard.contains(&within(&path, subject(&notice.text))))?;
        let hint = format!("or read the file, then `stockade config trust {}`", path.display());
        Some(TrustHint { text: first.text.clone(), hint })
    };
    files.filter_map(hint).collect()
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
