//! What the command line may say.

mod absent;
mod check;
mod config;
mod overlay;
mod policy;
mod records;
mod run;
mod session;
mod units;

pub(crate) use absent::AbsentArgs;
pub(crate) use check::CheckArgs;
pub(crate) use config::{ConfigAct, ImportFrom, ShowArgs};
pub(crate) use overlay::{ApplyArgs, DiffArgs, DiscardArgs};
pub(crate) use policy::PolicyArgs;
pub(crate) use records::{AuditAct, AuditShowArgs, ViolationsArgs, format_moment};
pub(crate) use run::{AskTarget, EventsTarget, RunArgs, RunOnly};
pub(crate) use session::{ComeBackOnly, ExecArgs, HostOnly, NewArgs, SessionsAct, ShellArgs};
pub(crate) use units::format_seconds;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Run commands that an AI agent wrote, so that they can do their work and nothing else.
#[derive(Debug, Parser)]
#[command(
    name = "stockade",
    bin_name = "stockade",
    version,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  stockade run -- npm test              run a command that may write only here
  stockade run -c 'make && ./check'     the same for shell text
  stockade explain ~/.ssh/id_ed25519    may a command read this, and why not
  stockade doctor                       do the walls hold on this machine"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Act>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// Run a command behind walls
    Run(Box<RunArgs>),
    /// Print the plan a command would run under, as JSON
    #[command(after_help = "Takes the options of `stockade run`; the command itself may be left out.")]
    Plan(Box<RunArgs>),
    /// Say whether a command would run behind walls, without, or not at all, and which rule decides
    Check(Box<CheckArgs>),
    /// Say whether a command may read, write or execute a path or reach a host (HOST:PORT), and which rule decides
    Explain(Box<ExplainArgs>),
    /// List the presets, or print one
    Presets {
        /// The preset to print
        name: Option<String>,
    },
    /// Print the JSON Schema of the settings
    Schema,
    /// Try every wall on this machine
    ///
    /// Asks the kernel what it offers, then starts a throw-away sandbox and really tries what must be
    /// refused in it. Exit status 0 when everything holds, 1 when not.
    Doctor {
        /// Print the findings as JSON
        #[arg(long)]
        json: bool,
    },
    /// List what was allowed when somebody was asked, or take it back
    #[command(args_conflicts_with_subcommands = true)]
    Grants {
        /// Print the grants as JSON
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        act: Option<GrantsAct>,
    },
    /// List what was refused, in all runs
    Violations(Box<ViolationsArgs>),
    /// Show or check the log of decisions
    #[command(disable_help_subcommand = true)]
    Audit {
        #[command(subcommand)]
        act: AuditAct,
    },
    /// Show, check, trust or import settings
    #[command(disable_help_subcommand = true)]
    Config {
        #[command(subcommand)]
        act: ConfigAct,
    },
    /// Show what runs with --overlay changed and did not apply
    Diff(DiffArgs),
    /// Bring changes that were held back into the workspace
    Apply(ApplyArgs),
    /// Throw changes away that were held back
    Discard(DiscardArgs),
    /// List changes that are held back
    Overlays {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Open a shell behind walls, or come back to one
    Shell(Box<ShellArgs>),
    /// Run a command in a session
    Exec(Box<ExecArgs>),
    /// List the sessions that live, make one, or end them
    #[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
    Sessions {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        act: Option<SessionsAct>,
    },
    /// Print a completion script
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Take the command lines of srt; the same when called under the name `srt`
    #[command(disable_help_flag = true)]
    Srt {
        /// [-d] [-s FILE] [--control-fd N] (-c STRING | ARGV...)
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        words: Vec<OsString>,
    },
    #[command(name = "__host", hide = true, disable_help_flag = true)]
    Host {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    #[command(name = "__witness", hide = true, disable_help_flag = true)]
    Witness {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantsAct {
    /// Take grants back; commands that are running keep what they have
    Revoke {
        /// The ids that `stockade grants` shows
        #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "ID")]
        ids: Vec<String>,
        /// All of them
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stockade explain src/main.rs
  stockade explain --write --preset strict .
  stockade explain --allow-domain '*.example.org' git.example.org:443 https://example.org/x")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Only whether it may be read
    #[arg(long)]
    pub(crate) read: bool,
    /// Only whether it may be written
    #[arg(long)]
    pub(crate) write: bool,
    /// Print the answers as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The files, directories, hosts (HOST:PORT; without a port it is a path) and URLs in question
    #[arg(required = true, value_name = "SUBJECT")]
    pub(crate) subjects: Vec<PathBuf>,
}
