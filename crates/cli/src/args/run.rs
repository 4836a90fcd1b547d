//! Options of `stockade run`.

use super::units::milliseconds;
use super::{AbsentArgs, PolicyArgs};
use std::ffi::OsString;
use std::path::PathBuf;
use stockade::CommandLine;

/// How long an answer is waited for, in milliseconds, where nobody says.
const ASK_TIMEOUT: u64 = 120_000;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The exit status is the command's own, or 128+N when signal N ended it; 125 when Stockade failed or
refused, 126 and 127 as in a shell, 137 after a time-out.

Examples:
  stockade run -- cargo test
  stockade run --timeout 60 -c 'npm ci && npm test'
  stockade run --preset strict --allow-read ./data -- python analyse.py
  stockade run --allow-domain '*.example.org' --allow-domain example.org:443 -- git fetch
  stockade run --report report.json -q -- make")]
pub(crate) struct RunArgs {
    /// Shell text to run
    #[arg(short = 'c', value_name = "STRING", conflicts_with = "argv")]
    pub(crate) shell: Option<OsString>,
    /// The command and its words; options after the first word are its own
    #[arg(trailing_var_arg = true, value_name = "ARGV")]
    pub(crate) argv: Vec<OsString>,
    /// Say nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say what was dropped, which walls stand and how it ended
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Give the command a terminal of its own even where the caller has none
    #[arg(long)]
    pub(crate) tty: bool,
    /// Let an open descriptor of the caller through
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(3..))]
    pub(crate) inherit_fd: Vec<i32>,
    /// Write what happens as JSON lines
    #[arg(long, value_name = "FILE|fd:N", value_parser = events_target)]
    pub(crate) events: Option<EventsTarget>,
    /// Write the outcome as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Say at the end what changed in the workspace that this machine may execute later
    ///
    /// Git hooks, scripts of packages, build services, settings of editors and agents, programs found by
    /// their names. Looks at the whole workspace before and after.
    #[arg(long)]
    pub(crate) review: bool,
    /// Hold changes to the workspace back, to be looked at and applied later
    ///
    /// The command sees its changes, the workspace stays as it is. With a name, a later run under the same name
    /// goes on where this one ended. See `stockade diff`, `apply` and `discard`.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true)]
    pub(crate) overlay: Option<Option<String>>,
    /// Who is asked while the command waits: tty, deny, fd:N or fd:IN,OUT
    ///
    /// With `tty` questions come on the terminal. With `fd:N` they are JSON lines on a descriptor of the
    /// caller, and so are the answers.
    #[arg(long, value_name = "WHO", value_parser = ask_target, default_value = "deny")]
    pub(crate) ask: AskTarget,
    /// How long an answer is waited for before it is a no
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds, default_value = "120")]
    pub(crate) ask_timeout: u64,
    /// The kind of sandbox
    #[arg(long, value_name = "KIND")]
    pub(crate) provider: Option<String>,
    /// The way the local provider walls a process: native
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<String>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    #[command(flatten)]
    pub(crate) absent: AbsentArgs,
}

/// The same as a command line of its own: runs start thousands of times a day, and need not pay for
/// the description of every other subcommand.
#[derive(Debug, clap::Parser)]
#[command(name = "run", bin_name = "stockade run", about = "Run a command behind walls")]
pub(crate) struct RunOnly {
    #[command(flatten)]
    pub(crate) args: RunArgs,
}

impl RunArgs {
    /// Reads what has no options: `--` and a command, as most programs write it. Describing all options to the
    /// parser takes a tenth of a millisecond and more.
    pub(crate) fn plain(words: &[OsString]) -> Option<Self> {
        let (dashes, argv) = words.split_first()?;
        (dashes == "--").then(|| Self {
            shell: None,
            argv: argv.to_vec(),
            quiet: false,
            verbose: false,
            tty: false,
            inherit_fd: Vec::new(),
            events: None,
            report: None,
            review: false,
            overlay: None,
            ask: AskTarget::Deny,
            ask_timeout: ASK_TIMEOUT,
            provider: None,
            engine: None,
            policy: PolicyArgs::default(),
            absent: AbsentArgs::default(),
        })
    }

    /// What to run; nothing was said when `None`.
    pub(crate) fn command_line(&self) -> Option<CommandLine> {
        match &self.shell {
            Some(text) => Some(CommandLine::Shell(text.clone())),
            None if self.argv.is_empty() => None,
            None => Some(CommandLine::Argv(self.argv.clone())),
        }
    }
}

/// Where events are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventsTarget {
    File(PathBuf),
    Descriptor(i32),
}

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskTarget {
    /// Nobody: what a rule refuses is refused.
    Deny,
    /// The person at the terminal.
    Tty,
    /// A program, over descriptors of the caller.
    Descriptors { input: i32, output: i32 },
}

fn ask_target(text: &str) -> Result<AskTarget, String> {
    let numbers = match text {
        "deny" => return Ok(AskTarget::Deny),
        "tty" => return Ok(AskTarget::Tty),
        _ => text.strip_prefix("fd:").ok_or_else(|| format!("`{text}` is none of tty, deny, fd:N"))?,
    };
    // Whoever shares a descriptor with the command lets it answer, or speak for us.
    let number = |text: &str| match text.parse() {
        Ok(number @ 3..) => Ok(number),
        _ => Err(format!("`{text}` is not the number of a further descriptor: 3 or more")),
    };
    match numbers.split_once(',') {
        Some((input, output)) => {
            Ok(AskTarget::Descriptors { input: number(input)?, output: number(output)? })
        }
        None => number(numbers).map(|number| AskTarget::Descriptors { input: number, output: number }),
    }
}

fn events_target(text: &str) -> Result<EventsTarget, String> {
    match text.strip_prefix("fd:") {
        None => Ok(EventsTarget::File(text.into())),
        Some(number) => match number.parse() {
            Ok(number @ 0..) => Ok(EventsTarget::Descriptor(number)),
            _ => Err(format!("`{number}` is not a descriptor's number")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Act, Cli};
    use clap::Parser;

    fn run(words: &[&str]) -> Result<RunArgs, clap::Error> {
        RunOnly::try_parse_from(["run"].iter().chain(words)).map(|only| only.args)
    }

    #[test]
    fn both_ways_to_read_a_run_agree() {
        for words in [&["-q", "--timeout", "2", "ls", "-l"][..], &["-c", "echo", "--report", "r"]] {
            let whole = match Cli::try_parse_from(["stockade", "run"].iter().chain(words)).unwrap().command {
                Some(Act::Run(args)) => *args,
                other => panic!("{other:?}"),
            };
            assert_eq!(format!("{whole:?}"), format!("{:?}", run(words).unwrap()));
        }
        let help = |error: clap::Error| error.to_string();
        let own = help(run(&["--help"]).unwrap_err());
        assert_eq!(help(Cli::try_parse_from(["stockade", "run", "--help"]).unwrap_err()), own);
    }

    #[test]
    fn what_has_no_options_is_read_the_same_without_the_parser() {
        for words in [&["--", "ls", "-l"][..], &["--"], &["--", "--"], &["--", "-q", "--", "-c", "x", ""]] {
            let plain = RunArgs::plain(&argv(words)).unwrap();
            assert_eq!(format!("{plain:?}"), format!("{:?}", run(words).unwrap()), "{words:?}");
        }
        for words in [&[][..], &["ls"], &["-q", "--", "ls"], &["--review"]] {
            assert!(RunArgs::plain(&argv(words)).is_none(), "{words:?}");
        }
    }

    fn argv(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn options_after_the_first_word_belong_to_the_command() {
        for words in
            [&["-q", "ls", "-q", "--tty", "--", "-v"][..], &["-q", "--", "ls", "-q", "--tty", "--", "-v"]]
        {
            let args = run(words).unwrap();
            assert_eq!(args.argv, argv(&["ls", "-q", "--tty", "--", "-v"]));
            assert!(args.quiet && !args.tty && !args.verbose);
        }
        assert_eq!(run(&["--", "-x"]).unwrap().argv, argv(&["-x"]));
    }

    #[test]
    fn misspelt_options_are_errors_not_commands() {
        assert!(run(&["--alow-write", "x", "ls"]).is_err());
        assert!(run(&["-z", "ls"]).is_err());
    }

    #[test]
    fn shell_text_or_words_but_not_both() {
        let args = run(&["-c", "echo hi"]).unwrap();
        assert_eq!(args.command_line(), Some(CommandLine::Shell("echo hi".into())));
        assert!(run(&["-c", "echo hi", "ls"]).is_err());
        assert_eq!(run(&[]).unwrap().command_line(), None);
    }

    #[test]
    fn events_go_to_a_file_or_a_descriptor() {
        assert_eq!(run(&["--events", "a", "x"]).unwrap().events, Some(EventsTarget::File("a".into())));
        assert_eq!(run(&["--events", "fd:5", "x"]).unwrap().events, Some(EventsTarget::Descriptor(5)));
        assert!(run(&["--events", "fd:-1", "x"]).is_err());
        assert!(run(&["--events", "fd:x", "x"]).is_err());
    }

    #[test]
    fn somebody_is_asked_or_nobody() {
        assert_eq!(run(&["x"]).unwrap().ask, AskTarget::Deny);
        assert_eq!(run(&["x"]).unwrap().ask_timeout, 120_000);
        for (words, expected) in [
            ("deny", AskTarget::Deny),
            ("tty", AskTarget::Tty),
            ("fd:3", AskTarget::Descriptors { input: 3, output: 3 }),
            ("fd:4,7", AskTarget::Descriptors { input: 4, output: 7 }),
        ] {
            assert_eq!(run(&["--ask", words, "x"]).unwrap().ask, expected, "{words}");
        }
        for wrong in ["", "allow", "fd:", "fd:2", "fd:3,1", "fd:3,", "fd:-3", "fd:3,4,5", "TTY"] {
            assert!(run(&["--ask", wrong, "x"]).is_err(), "{wrong}");
        }
        assert_eq!(run(&["--ask-timeout", "0.5", "x"]).unwrap().ask_timeout, 500);
        assert!(run(&["--ask-timeout", "0", "x"]).is_err());
    }

    #[test]
    fn only_reads_can_be_traced() {
        assert!(run(&["--trace", "reads", "--allow-unix", "/run/s", "x"]).is_ok());
        assert!(run(&["--trace", "writes", "x"]).is_err());
    }

    #[test]
    fn only_further_descriptors_are_inherited_by_number() {
        assert_eq!(run(&["--inherit-fd", "3", "--inherit-fd", "9", "x"]).unwrap().inherit_fd, [3, 9]);
        assert!(run(&["--inherit-fd", "2", "x"]).is_err());
    }

    #[test]
    fn options_without_a_wall_are_known() {
        assert_eq!(run(&["x"]).unwrap().absent.first(), None);
        for (words, layer) in [
            (&["--memory", "1g"][..], "cgroup"),
            (&["--cpus", "1.5"], "cgroup"),
            (&["--pids", "9"], "cgroup"),
        ] {
            let args = run(&[words, &["x"]].concat()).unwrap();
            assert_eq!(args.absent.first(), Some((words[0], layer)));
        }
    }
}
