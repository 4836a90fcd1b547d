//! The broker's part of a plan.

use crate::rules::List;
use crate::{NamedTree, RuleRef, Switch};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What an engine's broker has to hold and judge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BrokerPlan {
    /// Which opens for reading are held.
    pub reads: HeldReads,
    /// Whether somebody can be asked while a call waits.
    pub asking: Switch,
    /// Rules about names, existing or not.
    pub rules: Vec<GuardRule>,
    /// Directories below which patterns without a fixed beginning hold.
    pub roots: Vec<PathBuf>,
    /// Directories whose own entries are judged by such patterns, but nothing further down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shallow_roots: Vec<PathBuf>,
    /// Files that were listed: such patterns judge their names, wherever they lie.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed_files: Vec<PathBuf>,
    /// Directories and files that may be written (directories are in `roots`, too): mandatory protection holds below them.
    pub writable: Vec<PathBuf>,
    /// Directories at which protected names stand: workspace, writable roots, repositories, home.
    pub protected_roots: Vec<PathBuf>,
    /// Git directories of another name than `.git` that were there at the start.
    pub git_directories: Vec<PathBuf>,
    /// Work trees without a `.git` of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_trees: Vec<NamedTree>,
    /// Unix sockets that may be reached.
    pub unix: Vec<UnixRule>,
    /// Files of which commands see a stand-in, and nothing else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stand_ins: Vec<StandInRule>,
}

impl BrokerPlan {
    /// Directories below which git directories are protected.
    pub fn git_roots(&self) -> Vec<PathBuf> {
        let caches = self.rules.iter().filter_map(|rule| match &rule.place {
            GuardPlace::Path { path } if rule.list == List::ToolCache => Some(path.clone()),
            _ => None,
        });
        self.writable.iter().cloned().chain(caches).collect()
    }
}

/// Which opens for reading the broker holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HeldReads {
    /// None: the mounts refuse what may not be read, and no record is made.
    #[default]
    None,
    /// All, to record what is refused.
    All,
}

/// One rule as the broker needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GuardRule {
    /// Which list it stands in.
    pub list: List,
    /// What it names.
    pub place: GuardPlace,
    /// The rule as a person would quote it.
    pub rule: RuleRef,
}

/// What a rule names, links resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "at")]
pub enum GuardPlace {
    /// One path and everything below.
    Path {
        /// Absolute, its existing part free of links.
        path: PathBuf,
    },
    /// What matches below one directory.
    Below {
        /// Absolute, its existing part free of links.
        base: PathBuf,
        /// The pattern, from there.
        glob: String,
    },
    /// What matches below any of the plan's roots.
    Anywhere {
        /// The pattern, from any directory.
        glob: String,
    },
    /// What matches in any git directory below a writable root.
    InGitDirectory {
        /// The pattern, from the git directory.
        glob: String,
    },
    /// A `.git` that is not a directory.
    GitPointer,
    /// What matches at the plan's protected roots.
    AtRoots {
        /// The pattern, from the root.
        glob: String,
    },
    /// What matches in any directory below a writable root.
    AtAnyDepth {
        /// The pattern, from any directory.
        glob: String,
        /// Not inside node_modules.
        outside_modules: bool,
    },
}

/// A unix socket, or a directory of them, that may be reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnixRule {
    /// Absolute, its existing part free of links.
    pub path: PathBuf,
    /// The rule as a person would quote it.
    pub rule: RuleRef,
}

/// A file that holds a secret. What commands see under its name is laid over it, and must stay there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StandInRule {
    /// Absolute, free of links.
    pub path: PathBuf,
    /// The device the file itself is on, where it could be looked at.
    pub device: Option<u64>,
    /// The rule as a person would quote it.
    pub rule: RuleRef,
}
