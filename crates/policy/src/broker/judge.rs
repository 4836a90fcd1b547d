//! The judge.

use crate::{Plan, RuleRef, Switch, ViolationKind};
use std::path::Path;

/// What is about to get a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// A regular file, made anew.
    File,
    /// A directory, made anew or moved here.
    Directory,
    /// A symbolic link, made anew or moved here.
    Symlink,
    /// A file that existed under another name: renamed or linked here.
    Moved,
    /// A socket, pipe or device.
    Special,
}

/// What the rules say about an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// No rule of the broker's speaks: the walls decide.
    Free,
    /// Refused.
    Refused(Refusal),
    /// Allowed if the content, or what lies beside it, passes this check.
    Check(Check, Refusal),
}

/// What has to be looked at before an act is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The new content must be a git configuration of inert keys.
    GitConfig,
    /// The new content must be a pointer (`gitdir: PATH`) to a git directory that is protected itself.
    GitPointer,
    /// The new content must be `../..`.
    WorktreeCommonDir,
    /// The new content must be the path of a `.git` file below a writable root.
    WorktreePointer,
    /// The name must not complete a bare repository: HEAD, objects and refs beside each other.
    BareRepository,
}

/// Why not, and what would change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The rule that refuses, where one does.
    pub rule: Option<RuleRef>,
    /// Why, in one sentence.
    pub reason: String,
    /// The option or setting that would allow it.
    pub suggestion: Option<String>,
    /// Whether a person who is asked may allow it.
    pub grantable: Switch,
}

/// Judges paths by a plan's rules.
#[derive(Debug)]
pub struct Judge {
    plan: Plan,
}

impl Judge {
    /// A judge for this plan.
    pub fn new(plan: &Plan) -> Self {
        Self { plan: plan.clone() }
    }

    /// Whether something may get this name. The path is absolute and free of links.
    pub fn name(&self, _path: &Path, _naming: Naming) -> Judgement {
        Judgement::Free
    }

    /// Whether what exists under this name may be changed, removed or moved away.
    pub fn change(&self, _path: &Path) -> Judgement {
        Judgement::Free
    }

    /// Whether this may be read.
    pub fn read(&self, _path: &Path) -> Judgement {
        Judgement::Free
    }

    /// Whether a directory that comes to stand here has to be searched for names that rules are about.
    pub fn must_search(&self, _from: &Path, _to: &Path) -> bool {
        true
    }

    /// Whether a unix socket at this path may be reached.
    pub fn unix(&self, _path: &Path) -> Judgement {
        Judgement::Free
    }

    /// Which rule stands behind a wall that refused, or none if the refusal was the file system's own.
    pub fn why_not(&self, path: &Path, _kind: ViolationKind) -> Option<Refusal> {
        let _ = (&self.plan, path);
        None
    }
}
