//! Options of the subcommands about changes that are held back.

use std::ffi::OsString;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Names with line breaks, escape sequences or bytes that are no text are shown in quotes.

Examples:
  stockade diff                     what the only overlay of this directory holds
  stockade diff 5f3a92c1 src        only below src
  stockade diff --stat")]
pub(crate) struct DiffArgs {
    /// Only the paths, each with what happened to it
    #[arg(long, conflicts_with_all = ["stat", "json"])]
    pub(crate) name_only: bool,
    /// Only the paths, each with how many lines changed
    #[arg(long, conflicts_with = "json")]
    pub(crate) stat: bool,
    /// A list of the changes as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The overlay's id or name, where the directory has several, and the paths that are meant
    #[arg(value_name = "[ID] [PATH]")]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status 0 when everything was applied, 1 when something was left out, 125 when nothing was applied: where the
workspace has changed, too, the names are told and nothing is done.

Examples:
  stockade apply                    everything the only overlay of this directory holds
  stockade apply 5f3a92c1 src       only below src
  stockade apply --force            over changes that were made meanwhile")]
pub(crate) struct ApplyArgs {
    /// Overwrite what has changed in the workspace meanwhile
    #[arg(long)]
    pub(crate) force: bool,
    /// Say nothing but what was left out
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The overlay's id or name, where the directory has several, and the paths that are meant
    #[arg(value_name = "[ID] [PATH]")]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DiscardArgs {
    /// All overlays of all directories
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
    /// The overlay's id or name, where the directory has several
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
}
