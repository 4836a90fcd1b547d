//! Options of `stockade check`.

use super::PolicyArgs;
use std::ffi::OsString;
use stockade::CommandLine;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The decision is one of
  sandbox       it runs behind walls
  unsandboxed   it runs without walls, because the settings say so
  ask           a person has to be asked first; `stockade run`, which asks nobody, refuses it
  refuse        it does not run

\"needs approval\" is for the agent that embeds Stockade and asks people: commands without walls always need it.
`stockade run` asks nobody. It takes the order itself for the approval, and says so when there are no walls.

A compound command runs without walls only if every part of it is listed in excludedCommands and nothing
in it is in doubt. The exit status is 0 whatever the decision is, 125 when there is none, and 2
when the options are wrong.

Examples:
  stockade check -c 'npm run lint && docker ps'
  stockade check --settings team.json --json -c 'timeout 30 npm test'
  stockade check -- git push origin main")]
pub(crate) struct CheckArgs {
    /// Shell text to decide about
    #[arg(
        short = 'c',
        value_name = "STRING",
        conflicts_with = "argv",
        required_unless_present = "argv",
        allow_hyphen_values = true
    )]
    pub(crate) shell: Option<OsString>,
    /// The command and its words; options after the first word are its own
    #[arg(trailing_var_arg = true, value_name = "ARGV")]
    pub(crate) argv: Vec<OsString>,
    /// Decide as if the caller asked for no walls
    #[arg(long)]
    pub(crate) bare: bool,
    /// Print the decision as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
}

impl CheckArgs {
    /// What is decided about.
    pub(crate) fn command_line(&self) -> CommandLine {
        match &self.shell {
            Some(text) => CommandLine::Shell(text.clone()),
            None => CommandLine::Argv(self.argv.clone()),
        }
    }
}
