//! Taking off what stands in front of the program that matters: assignments and wrappers.

use super::part::{Part, Word};
use super::strict::assigned;
use std::borrow::Cow;

/// A program whose arguments are another command.
struct Wrapper {
    name: &'static str,
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with a value, as the next word or behind it.
    values: &'static [&'static str],
    /// How many words stand between the options and the command.
    operands: usize,
    /// Whether words like `A=b` in front of the command are assignments.
    assigns: Assigns,
    use_for: UseFor,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Assigns {
    Yes,
    No,
}

/// Which rules look behind a wrapper.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UseFor {
    AllRules,
    DenyRules,
}

/// Why a command is stripped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To run it without walls: every option must be known.
    Exclude,
    /// To refuse it: a guess is better than nothing.
    Deny,
}

/// A command without its wrappers.
#[derive(Debug)]
pub(crate) struct Stripped<'p, 't> {
    /// Every stage, from all words to the last command.
    pub(crate) stages: Vec<&'p [Word<'t>]>,
    /// Variables set on the way.
    pub(crate) assignments: Vec<Cow<'t, str>>,
    /// A wrapper has an option nobody knows here.
    pub(crate) unknown_option: Option<&'p str>,
}

impl<'p, 't> Stripped<'p, 't> {
    /// What is left at the end.
    pub(crate) fn command(&self) -> &'p [Word<'t>] {
        self.stages.last().copied().unwrap_or_default()
    }
}

const WRAPPERS: [Wrapper; 16] = [
    Wrapper {
        assigns: Assigns::Yes,
        ..wrapper("env", &["-i", "-", "--ignore-environment"], &["-u", "--unset"])
    },
    Wrapper {
        operands: 1,
        ..wrapper(
            "timeout",
            &["--foreground", "--preserve-status", "-v", "--verbose"],
            &["-k", "--kill-after", "-s", "--signal"],
        )
    },
    wrapper("nice", &[], &["-n", "--adjustment"]),
    wrapper("nohup", &[], &[]),
    Wrapper { assigns: Assigns::Yes, ..wrapper("time", &["-p"], &[]) },
    wrapper("command", &[], &[]),
    wrapper("builtin", &[], &[]),
    wrapper("exec", &[], &[]),
    wrapper("stdbuf", &[], &["-i", "--input", "-o", "--output", "-e", "--error"]),
    wrapper("ionice", &["-t", "--ignore"], &["-c", "--class", "-n", "--classdata"]),
    wrapper("setsid", &["-c", "--ctty", "-f", "--fork", "-w", "--wait"], &[]),
    wrapper("chronic", &[], &[]),
    Wrapper {
        assigns: Assigns::Yes,
        use_for: UseFor::DenyRules,
        ..wrapper(
            "sudo",
            &[],
            &[
                "-u",
                "--user",
                "-g",
                "--group",
                "-p",
                "--prompt",
                "-C",
                "--close-from",
                "-D",
                "--chdir",
                "-h",
                "--host",
                "-r",
                "--role",
                "-t",
                "--type",
                "-T",
                "--command-timeout",
                "-R",
                "--chroot",
                "-U",
                "--other-user",
            ],
        )
    },
    Wrapper { use_for: UseFor::DenyRules, ..wrapper("doas", &[], &["-u", "-C"]) },
    Wrapper {
        use_for: UseFor::DenyRules,
        ..wrapper(
            "xargs",
            &[],
            &[
                "-n",
                "--max-args",
                "-P",
                "--max-procs",
                "-I",
                "-L",
                "-s",
                "--max-chars",
                "-d",
                "--delimiter",
                "-E",
                "-a",
                "--arg-file",
                "--process-slot-var",
            ],
        )
    },
    Wrapper { use_for: UseFor::DenyRules, ..wrapper("busybox", &[], &[]) },
];

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    values: &'static [&'static str],
) -> Wrapper {
    Wrapper { name, flags, values, operands: 0, assigns: Assigns::No, use_for: UseFor::AllRules }
}

/// Takes wrappers off until nothing changes.
pub(crate) fn strip<'p, 't>(part: &'p Part<'t>, purpose: Purpose) -> Stripped<'p, 't> {
    let mut stripped = Stripped {
        stages: vec![part.words.as_slice()],
        assignments: part.assignments.clone(),
        unknown_option: None,
    };
    while let Some(rest) = step(&mut stripped, purpose) {
        stripped.stages.push(rest);
    }
    stripped
}

/// The command behind the first wrapper, if there is one.
fn step<'p, 't>(stripped: &mut Stripped<'p, 't>, purpose: Purpose) -> Option<&'p [Word<'t>]> {
    let words = stripped.command();
    let (first, mut rest) = words.split_first()?;
    let program = first.value.as_deref()?;
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.is(program, purpose))?;
    while let Some(word) = rest.first() {
        let Some(option) = word.value.as_deref() else { break };
        if option == "--" {
            rest = &rest[1..];
            break;
        }
        if !option.starts_with('-') {
            break;
        }
        // Only says where the program lies.
        if wrapper.name == "command" && matches!(option, "-v" | "-V") {
            stripped.unknown_option = word.value.as_deref();
            return None;
        }
        let taken = match wrapper.option(option) {
            Some(taken) => taken,
            None if purpose == Purpose::Exclude => {
                stripped.unknown_option = word.value.as_deref();
                return None;
            }
            None => 1,
        };
        rest = rest.get(taken..)?;
    }
    if wrapper.assigns == Assigns::Yes {
        while let Some(name) = rest.first().and_then(set_by) {
            stripped.assignments.push(Cow::Owned(name.to_owned()));
            rest = &rest[1..];
        }
    }
    // Where a number should stand, only a word that is known can be one.
    let (operands, rest) = rest.split_at_checked(wrapper.operands)?;
    if operands.iter().any(|word| word.value.is_none()) && purpose == Purpose::Exclude {
        return None;
    }
    (!rest.is_empty()).then_some(rest)
}

/// The variable a word sets for the command behind it; quotes do not matter here.
fn set_by<'p>(word: &'p Word<'_>) -> Option<&'p str> {
    let known = word.value.as_deref().and_then(|value| value.split_once('='));
    known.map(|(name, _)| name).or_else(|| assigned(word.raw))
}

impl Wrapper {
    fn is(&self, program: &str, purpose: Purpose) -> bool {
        let (directory, name) =
            program.rsplit_once('/').map_or((None, program), |(at, name)| (Some(at), name));
        let trusted = match purpose {
            Purpose::Exclude => matches!(directory, None | Some("/bin" | "/usr/bin")),
            Purpose::Deny => true,
        };
        name == self.name && trusted && (self.use_for == UseFor::AllRules || purpose == Purpose::Deny)
    }

    /// How many words an option takes, if it is known.
    fn option(&self, option: &str) -> Option<usize> {
        let number =
            option.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        if self.flags.contains(&option) || (self.name == "nice" && number && option != "-") {
            return Some(1);
        }
        self.values.iter().find_map(|known| {
            let rest = option.strip_prefix(known)?;
            match (rest.is_empty(), known.starts_with("--")) {
                (true, _) => Some(2),
                (false, true) => rest.starts_with('=').then_some(1),
                (false, false) => Some(1),
            }
        })
    }
}
