//! Programs whose arguments are another command, and their options.

use super::strip::Purpose;

/// A program whose arguments are another command.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with a value, as the next word or behind it.
    values: &'static [&'static str],
    /// The same, where rules that deny look behind it: options that change too much for anything else.
    more_flags: &'static [&'static str],
    more_values: &'static [&'static str],
    /// How many words stand between the options and the command.
    pub(super) operands: usize,
    /// Whether words like `A=b` in front of the command are assignments.
    pub(super) assigns: Assigns,
    use_for: UseFor,
}

/// Whose assignments are taken for some.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Assigns {
    /// The wrapper sets variables.
    Always,
    /// A shell's own word may do so, a program of that name does not: only a guess.
    Guessed,
    Never,
}

/// Which rules look behind a wrapper.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UseFor {
    AllRules,
    DenyRules,
    /// The same, and what its words mean is not known here: any of them may be the command.
    Guesses,
}

static WRAPPERS: [Wrapper; 16] = [
    // Taking variables away changes what runs as well as setting them.
    Wrapper {
        assigns: Assigns::Always,
        more_flags: &["-i", "-", "--ignore-environment", "-0", "--null", "-v", "--debug"],
        more_values: &["-u", "--unset", "-C", "--chdir"],
        ..wrapper("env", &[], &[])
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
    Wrapper {
        assigns: Assigns::Guessed,
        more_values: &["-f", "--format", "-o", "--output"],
        more_flags: &["-a", "--append", "-v", "--verbose", "-q", "--quiet"],
        ..wrapper("time", &["-p"], &[])
    },
    wrapper("command", &[], &[]),
    wrapper("builtin", &[], &[]),
    Wrapper { more_flags: &["-c", "-l"], more_values: &["-a"], ..wrapper("exec", &[], &[]) },
    wrapper("stdbuf", &[], &["-i", "--input", "-o", "--output", "-e", "--error"]),
    wrapper("ionice", &["-t", "--ignore"], &["-c", "--class", "-n", "--classdata"]),
    wrapper("setsid", &["-c", "--ctty", "-f", "--fork", "-w", "--wait"], &[]),
    wrapper("chronic", &[], &[]),
    Wrapper {
        assigns: Assigns::Always,
        use_for: UseFor::DenyRules,
        more_flags: &["-n", "-E", "-H", "-S", "-k", "-b", "-A", "-i", "-s", "-P", "-B"],
        more_values: &[
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
        ..wrapper("sudo", &[], &[])
    },
    Wrapper {
        use_for: UseFor::DenyRules,
        more_flags: &["-n"],
        more_values: &["-u", "-C"],
        ..wrapper("doas", &[], &[])
    },
    Wrapper {
        use_for: UseFor::DenyRules,
        more_flags: &["-0", "--null", "-r", "--no-run-if-empty", "-t", "--verbose", "-p", "-x"],
        more_values: &[
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
        ..wrapper("xargs", &[], &[])
    },
    Wrapper { use_for: UseFor::DenyRules, ..wrapper("busybox", &[], &[]) },
];

/// Programs that start others, in ways of their own.
const LAUNCHERS: [&str; 26] = [
    "coproc",
    "pkexec",
    "flock",
    "watch",
    "parallel",
    "chroot",
    "strace",
    "ltrace",
    "unshare",
    "nsenter",
    "taskset",
    "chrt",
    "systemd-run",
    "su",
    "runuser",
    "setpriv",
    "script",
    "numactl",
    "prlimit",
    "entr",
    "firejail",
    "bwrap",
    "catchsegv",
    "unbuffer",
    "toybox",
    "ssh",
];

/// What stands for any of them.
static LAUNCHER: Wrapper = Wrapper { use_for: UseFor::Guesses, ..wrapper("", &[], &[]) };

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    values: &'static [&'static str],
) -> Wrapper {
    Wrapper {
        name,
        flags,
        values,
        more_flags: &[],
        more_values: &[],
        operands: 0,
        assigns: Assigns::Never,
        use_for: UseFor::AllRules,
    }
}

/// Whether a program of this name starts others in its own way; their command may be a text.
pub(super) fn is_launcher(name: &str) -> bool {
    LAUNCHERS.contains(&name)
}

/// The wrapper that a program is, for this purpose.
pub(super) fn find(program: &str, purpose: Purpose) -> Option<&'static Wrapper> {
    let (directory, name) = program.rsplit_once('/').map_or((None, program), |(at, name)| (Some(at), name));
    match purpose {
        Purpose::Exclude => {
            let trusted = matches!(directory, None | Some("/bin" | "/usr/bin"));
            let fits = |known: &&Wrapper| known.name == name && known.use_for == UseFor::AllRules;
            WRAPPERS.iter().find(fits).filter(|_| trusted)
        }
        Purpose::Deny => WRAPPERS
            .iter()
            .find(|known| known.name == name)
            .or_else(|| is_launcher(name).then_some(&LAUNCHER)),
    }
}

impl Wrapper {
    /// Whether nobody here knows which of its words is the command.
    pub(super) fn is_guessed(&self) -> bool {
        self.use_for == UseFor::Guesses
    }

    /// How many words an option takes, if it is known.
    pub(super) fn option(&self, option: &str, purpose: Purpose) -> Option<usize> {
        let number =
            option.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        let more = |list: &'static [&'static str]| if purpose == Purpose::Deny { list } else { &[] };
        if self.flags.contains(&option)
            || more(self.more_flags).contains(&option)
            || (self.name == "nice" && number && option != "-")
        {
            return Some(1);
        }
        self.values.iter().chain(more(self.more_values)).find_map(|known| {
            let rest = option.strip_prefix(known)?;
            match (rest.is_empty(), known.starts_with("--")) {
                (true, _) => Some(2),
                (false, true) => rest.starts_with('=').then_some(1),
                (false, false) => Some(1),
            }
        })
    }
}
