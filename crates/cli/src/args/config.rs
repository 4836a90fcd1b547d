//! What `stockade config` may be told.

use super::PolicyArgs;
use clap::{Subcommand, ValueEnum};
use std::path::PathBuf;
use stockade::Shape;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAct {
    /// Print the settings that hold, all layers together, each with who said it
    #[command(after_help = "\
Examples:
  stockade config show
  stockade config show --preset strict --allow-domain example.org
  stockade config show --json | jq '.rules[] | select(.list == \"denyRead\")'")]
    Show(Box<ShowArgs>),
    /// Say whether settings files are in order, and what in them would not be heard
    ///
    /// Exit status 0 when all are, 1 when one is not.
    Validate {
        /// Whose format the files have; told by their keys when not given
        #[arg(long, value_name = "SHAPE", value_enum)]
        shape: Option<ShapeName>,
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Let project settings loosen, too, as long as they stay as they are now
    ///
    /// Project settings may only tighten. A file that you have read and trust may also allow, until its
    /// content changes.
    Trust {
        /// The files; those of the project in this directory when none is named
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Take trust back
        #[arg(long, conflicts_with = "list")]
        revoke: bool,
        /// List what was trusted, and whether it still is
        #[arg(long, conflicts_with = "files")]
        list: bool,
        /// Print the list as JSON
        #[arg(long, requires = "list")]
        json: bool,
    },
    /// Write what another tool's settings say in Stockade's own form
    ///
    /// What cannot be carried over is listed on standard error and at the head of the result.
    #[command(after_help = "\
Examples:
  stockade config import srt
  stockade config import claude .claude/settings.json -o .stockade.json
  stockade config import codex ~/.codex/config.toml")]
    Import {
        /// Whose settings they are
        #[arg(value_enum)]
        from: ImportFrom,
        /// The file; the user's own of that tool when not named
        file: Option<PathBuf>,
        /// Where to write to, instead of standard output; a file that is there is left alone
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// List the rules that are built in, too
    #[arg(long)]
    pub(crate) all: bool,
    /// Print everything as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whose format a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShapeName {
    /// Stockade's own
    Native,
    /// srt's
    Srt,
    /// Claude Code's settings.json
    Claude,
    /// sandbox.json
    Simple,
}

impl From<ShapeName> for Shape {
    fn from(name: ShapeName) -> Self {
        match name {
            ShapeName::Native => Self::Native,
            ShapeName::Srt => Self::Srt,
            ShapeName::Claude => Self::Claude,
            ShapeName::Simple => Self::Simple,
        }
    }
}

/// Whose settings are imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFrom {
    /// Claude Code's settings.json
    Claude,
    /// srt's settings
    Srt,
    /// Codex's config.toml
    Codex,
}
