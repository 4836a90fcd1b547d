//! Options of `stockade shell`, `stockade exec` and `stockade sessions`.

use super::PolicyArgs;
use super::units::milliseconds;
use std::ffi::OsString;
use stockade::{CommandLine, SessionName};

/// How a session is made.
#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// What the session is called
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<SessionName>,
    /// End the session after nobody has used it for this long
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds, default_value = "86400")]
    pub(crate) idle: u64,
    /// The kind of sandbox
    #[arg(long, value_name = "KIND")]
    pub(crate) provider: Option<String>,
    /// The way the local provider walls a process: native
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<String>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Ctrl-] d leaves the session running; `stockade shell --name NAME` comes back to it. A terminal that hangs up
leaves it running, too. Ctrl-] twice is one Ctrl-] for the shell. When the shell ends the session ends, unless
`stockade sessions new` made it.

The exit status is the shell's own; 125 when Stockade failed or refused.

Examples:
  stockade shell
  stockade shell --name build --allow-domain '*.example.org'")]
pub(crate) struct ShellArgs {
    /// Take the terminal over from whoever is connected to it
    #[arg(long)]
    pub(crate) take: bool,
    #[command(flatten)]
    pub(crate) new: NewArgs,
}

/// What may be said about a session that is there already: nobody changes its policy.
#[derive(Debug, clap::Parser)]
#[command(disable_help_flag = true)]
pub(crate) struct ComeBackOnly {
    #[arg(long)]
    name: SessionName,
    #[arg(long)]
    take: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Text is run by the session's own shell, one after the other: what it changes stays, such as the working directory
and variables. A program with its words is started beside the shell, where the shell is.

The exit status is the command's own, or 128+N when signal N ended it; 125 when Stockade failed or
refused, 126 and 127 as in a shell, 137 after a time-out.

Examples:
  stockade exec build -c 'cd src && export DEBUG=1'
  stockade exec build -- make test
  stockade exec build --background -c './serve'")]
pub(crate) struct ExecArgs {
    /// The session
    #[arg(value_name = "SESSION")]
    pub(crate) session: SessionName,
    /// Shell text to run
    #[arg(short = 'c', value_name = "STRING", conflicts_with = "argv")]
    pub(crate) shell: Option<OsString>,
    /// The command and its words; options after the first word are its own
    #[arg(trailing_var_arg = true, value_name = "ARGV")]
    pub(crate) argv: Vec<OsString>,
    /// End the command after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds)]
    pub(crate) timeout: Option<u64>,
    /// Begin it, print its number and do not wait
    #[arg(long, conflicts_with = "timeout")]
    pub(crate) background: bool,
    /// Say nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say how it ended, too
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

impl ExecArgs {
    /// What to run; nothing was said when `None`.
    pub(crate) fn command_line(&self) -> Option<CommandLine> {
        match &self.shell {
            Some(text) => Some(CommandLine::Shell(text.clone())),
            None if self.argv.is_empty() => None,
            None => Some(CommandLine::Argv(self.argv.clone())),
        }
    }
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum SessionsAct {
    /// List the sessions that live; the same as no word at all
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a session and print its name
    New(Box<NewArgs>),
    /// End sessions, and everything in them
    Kill {
        /// Their names
        #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "SESSION")]
        names: Vec<SessionName>,
        /// All of them
        #[arg(long)]
        all: bool,
    },
    /// Print what a background command has printed
    Output {
        /// The session
        #[arg(value_name = "SESSION")]
        name: SessionName,
        /// The number that `stockade exec --background` printed
        id: u64,
        /// Go on until it ends, and end with its exit status
        #[arg(long)]
        follow: bool,
    },
    /// End a background command
    Stop {
        /// The session
        #[arg(value_name = "SESSION")]
        name: SessionName,
        /// The number that `stockade exec --background` printed
        id: u64,
    },
}

/// What a host is told, by the process that starts it.
#[derive(Debug, clap::Parser)]
#[command(name = "__host")]
pub(crate) struct HostOnly {
    #[command(flatten)]
    pub(crate) args: ShellArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, clap::Parser)]
    struct Only {
        #[command(flatten)]
        args: ExecArgs,
    }

    fn exec(words: &[&str]) -> Result<ExecArgs, clap::Error> {
        Only::try_parse_from([&["exec"], words].concat()).map(|only| only.args)
    }

    #[test]
    fn a_session_comes_first_and_a_command_after_it() {
        let args = exec(&["a", "--timeout", "2", "-c", "x"]).unwrap();
        assert_eq!(args.command_line(), Some(CommandLine::Shell("x".into())));
        assert_eq!(args.timeout, Some(2000));
        for words in [&["a", "--", "ls", "-c"][..], &["a", "ls", "-c"]] {
            let words = exec(words).unwrap().command_line();
            assert_eq!(words, Some(CommandLine::Argv(vec!["ls".into(), "-c".into()])));
        }
        assert_eq!(exec(&["a"]).unwrap().command_line(), None);
        assert!(exec(&[]).is_err() && exec(&["../a", "ls"]).is_err());
        // Whoever runs a command cannot loosen anything.
        assert!(exec(&["a", "--allow-write", "/", "--", "ls"]).is_err());
    }

    #[test]
    fn who_comes_back_brings_no_policy() {
        let back = |words: &[&str]| ComeBackOnly::try_parse_from([&["shell"], words].concat()).is_ok();
        assert!(back(&["--name", "a"]) && back(&["--name=a", "--take"]));
        assert!(!back(&["--name", "a", "--allow-write", "/"]));
        assert!(!back(&["--name", "a", "--preset", "strict"]));
    }
}
