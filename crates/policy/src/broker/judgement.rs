//! What a judge is asked, and what it answers.

use crate::{FileKind, RuleRef, Switch};

/// What is about to get a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// A regular file, made anew.
    File,
    /// A directory, made anew.
    Directory,
    /// A directory that existed under another name.
    MovedDirectory,
    /// A symbolic link, made anew or moved here.
    Symlink,
    /// A symbolic link, made anew, to a plain name in the same directory. Git makes one in every new
    /// repository, to see whether it may.
    SymlinkBeside,
    /// A file that existed under another name: renamed or linked here.
    Moved,
    /// A socket, pipe or device.
    Special,
}

impl Naming {
    pub(super) fn kind(self) -> FileKind {
        match self {
            Self::Directory | Self::MovedDirectory => FileKind::Directory,
            Self::Symlink | Self::SymlinkBeside => FileKind::Symlink,
            Self::File | Self::Moved | Self::Special => FileKind::File,
        }
    }
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
    /// The new content must be a list of files of the work tree.
    GitIndex,
    /// The new content must be such that git goes on with it only where it was.
    GitState,
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

impl Refusal {
    /// One that no rule says and nobody can lift.
    pub fn flat(reason: impl Into<String>) -> Self {
        Self { rule: None, reason: reason.into(), suggestion: None, grantable: Switch::Refused }
    }
}
