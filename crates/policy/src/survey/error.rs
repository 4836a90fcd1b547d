//! Why a plan could not be made.

use crate::RuleRef;
use std::io;
use std::path::PathBuf;

/// Making a plan failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The directory the command should work in is not there.
    #[error("cannot work in {}: {source}\nhint: name an existing directory", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A pattern matches more files than a sandbox can hold apart.
    #[error("{rule} matches more than {count} files below {}\nhint: name the directory that holds them instead, or a narrower pattern", root.display())]
    TooManyMatches {
        /// The rule that had one match too many.
        rule: RuleRef,
        /// Where it was looked for.
        root: PathBuf,
        /// How many matches there were until then.
        count: usize,
    },
    /// The tree is too big to be searched.
    #[error("searching {} for {rule} took more than {seconds} s, {count} directories were seen\nhint: work in a smaller directory, list narrower paths, or deny a directory by its path instead of a pattern", root.display())]
    TooBig {
        /// A rule the search was made for.
        rule: RuleRef,
        /// Where it was looked for.
        root: PathBuf,
        /// Directories seen until then.
        count: usize,
        /// The time limit.
        seconds: u64,
    },
    /// Changes to the workspace cannot be held back.
    #[error("changes to {} cannot be held back in an overlay: {reason}\nhint: run without an overlay, or in a directory that may be written and holds nothing of Stockade's own", path.display())]
    Overlay {
        /// The workspace.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The settings want a provider that this version does not have.
    #[error(
        "there is no sandbox provider {name:?} in this version, and the preset {preset} needs it\nhint: choose another preset or set provider to \"local\"; known providers: local, native"
    )]
    Provider {
        /// The provider.
        name: String,
        /// The preset.
        preset: String,
    },
}
