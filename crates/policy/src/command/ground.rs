//! Where a command without walls would run.
//!
//! A program obeys what lies in its working directory: git a repository there, many others their settings. In
//! the workspace such files are protected; in caches and the like, commands behind walls may write what they
//! want, and in a session they choose the directory, too.

use super::part::Part;
use super::strip::{Purpose, strip};
use crate::policy::Policy;
use crate::{Files, Request};
use std::path::{Component, Path, PathBuf};

/// The directories that the parts of a text would run in.
pub(super) struct Ways {
    places: Vec<PathBuf>,
    /// Why there may be others.
    lost: Option<String>,
}

impl Ways {
    /// Follows every `cd` of the text.
    pub(super) fn of(request: &Request, parts: &[Part<'_>]) -> Self {
        let mut ways = Self { places: vec![request.cwd.clone()], lost: None };
        for part in parts {
            let stripped = strip(part, Purpose::Deny);
            for words in &stripped.stages {
                let mut words = words.iter().map(|word| word.value.as_deref());
                let Some(Some(program @ ("cd" | "pushd" | "popd"))) = words.next() else { continue };
                // The last word is where it goes; what is an option is no place.
                match (program, words.next_back(), ways.places.last()) {
                    ("cd", Some(Some(to)), Some(at)) if to != "-" && !may_be_elsewhere(request, to) => {
                        ways.places.push(at.join(to));
                    }
                    _ => ways.lost = Some(format!("where {program} leads is not known before it runs")),
                }
            }
        }
        ways
    }

    /// Whether they are more than one.
    pub(super) fn move_about(&self) -> bool {
        self.places.len() > 1 || self.lost.is_some()
    }
}

/// Whether a shell looks for this directory somewhere else first.
fn may_be_elsewhere(request: &Request, to: &str) -> bool {
    let relative = !to.starts_with('/') && !to.starts_with("./") && !to.starts_with("../");
    relative && request.environment.iter().any(|(name, _)| name == "CDPATH")
}

/// What is needed to judge directories.
pub(super) struct Ground<'a> {
    pub(super) policy: &'a Policy,
    pub(super) files: &'a dyn Files,
}

impl Ground<'_> {
    /// What speaks against these directories.
    pub(super) fn objection(&self, ways: &Ways) -> Option<String> {
        ways.lost.clone().or_else(|| ways.places.iter().find_map(|place| self.unguarded(place)))
    }

    fn unguarded(&self, path: &Path) -> Option<String> {
        let plain = without_dots(path);
        let real = self.files.resolve(path).unwrap_or_else(|_| plain.clone());
        let free = [plain, real].iter().any(|path| self.is_unguarded(path));
        free.then(|| {
            format!("it would run in {}, where commands may leave what programs obey", path.display())
        })
    }

    /// The nearest rule above decides: a workspace may lie in /tmp. In directories of our own it may not.
    fn is_unguarded(&self, path: &Path) -> bool {
        let (rules, own) = (&self.policy.commands, &self.policy.own);
        let ours = [&own.config, &own.state, &own.cache];
        if ours.iter().any(|place| !place.as_os_str().is_empty() && path.starts_with(place)) {
            return true;
        }
        let depth = |places: &[PathBuf]| {
            let above = places.iter().filter(|place| path.starts_with(place));
            above.map(|place| place.components().count()).max()
        };
        let guarded: Vec<PathBuf> =
            rules.roots.iter().filter(|root| !rules.unguarded.contains(root)).cloned().collect();
        depth(&rules.unguarded) > depth(&guarded)
    }
}

/// A path with its dots taken literally.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
