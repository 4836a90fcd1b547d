//! srt's own arguments. Small enough to be read exactly as srt's users know them.

use super::command_line;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use stockade::CommandLine;

pub(super) const HELP: &str = "\
Usage: srt [options] [command...]

Run a command behind walls, with the settings of srt.

Options:
  -d, --debug            say what is going on
  -s, --settings <path>  settings file (default: ~/.srt-settings.json)
  -c <command>           run shell text
  --control-fd <fd>      read further settings as JSON lines from this descriptor
  -V, --version          print the version
  -h, --help             print this
";

/// What an srt command line says.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    Run(SrtArgs),
    Help,
    Version,
}

#[derive(Debug, PartialEq)]
pub(super) struct SrtArgs {
    pub(super) debug: bool,
    pub(super) settings: Option<PathBuf>,
    pub(super) control: Option<i32>,
    pub(super) command: CommandLine,
}

/// An srt command line that means nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UsageError {
    #[error("no command specified\nhint: give a command, or shell text with -c")]
    NoCommand,
    #[error("unknown option '{0}'")]
    Unknown(String),
    #[error("option '{0}' argument missing")]
    Missing(&'static str),
    #[error("option '{0}' takes no argument")]
    Unwanted(&'static str),
    #[error("--control-fd must be an integer >= 3, got \"{0}\"")]
    Control(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flag {
    Debug,
    Settings,
    Shell,
    Control,
    Help,
    Version,
}

impl Flag {
    fn short(letter: u8) -> Option<Self> {
        Some(match letter {
            b'd' => Self::Debug,
            b's' => Self::Settings,
            b'c' => Self::Shell,
            b'h' => Self::Help,
            b'V' => Self::Version,
            _ => return None,
        })
    }

    fn long(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"debug" => Self::Debug,
            b"settings" => Self::Settings,
            b"control-fd" => Self::Control,
            b"help" => Self::Help,
            b"version" => Self::Version,
            _ => return None,
        })
    }

    fn shown(self) -> &'static str {
        match self {
            Self::Debug => "-d, --debug",
            Self::Settings => "-s, --settings <path>",
            Self::Shell => "-c <command>",
            Self::Control => "--control-fd <fd>",
            Self::Help => "-h, --help",
            Self::Version => "-V, --version",
        }
    }

    fn takes_value(self) -> bool {
        matches!(self, Self::Settings | Self::Shell | Self::Control)
    }
}

#[derive(Default)]
struct Draft {
    debug: bool,
    settings: Option<PathBuf>,
    control: Option<i32>,
    shell: Option<OsString>,
    /// Help or version: answered at once, whatever else is there.
    answer: Option<Said>,
}

impl Draft {
    fn take(&mut self, option: Flag, value: OsString) -> Result<(), UsageError> {
        match option {
            Flag::Debug => self.debug = true,
            Flag::Settings => self.settings = Some(value.into()),
            Flag::Shell => self.shell = Some(value),
            Flag::Control => {
                let number = value.to_str().and_then(|text| text.parse().ok()).filter(|number| *number >= 3);
                let wrong = || UsageError::Control(value.to_string_lossy().into_owned());
                self.control = Some(number.ok_or_else(wrong)?);
            }
            Flag::Help => self.answer = Some(Said::Help),
            Flag::Version => self.answer = Some(Said::Version),
        }
        Ok(())
    }
}

/// Reads options up to the first word that is none; the rest is the command, exactly.
pub(super) fn parse(words: Vec<OsString>) -> Result<Said, UsageError> {
    let mut draft = Draft::default();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next_if(|word| word.len() > 1 && word.as_bytes()[0] == b'-') {
        match word.as_bytes() {
            b"--" => break,
            [b'-', b'-', long @ ..] => {
                let (name, attached) = match long.iter().position(|byte| *byte == b'=') {
                    Some(at) => (&long[..at], Some(os(&long[at + 1..]))),
                    None => (long, None),
                };
                let option = Flag::long(name).ok_or_else(|| unknown(&[b"--", name].concat()))?;
                let value = match (option.takes_value(), attached) {
                    (true, Some(value)) => value,
                    (true, None) => words.next().ok_or(UsageError::Missing(option.shown()))?,
                    (false, Some(_)) => return Err(UsageError::Unwanted(option.shown())),
                    (false, None) => OsString::new(),
                };
                draft.take(option, value)?;
            }
            [b'-', letters @ ..] => short(letters, &mut draft, &mut words)?,
            _ => break,
        }
        if let Some(answer) = draft.answer {
            return Ok(answer);
        }
    }
    let command = command_line(draft.shell, words.collect()).ok_or(UsageError::NoCommand)?;
    Ok(Said::Run(SrtArgs { debug: draft.debug, settings: draft.settings, control: draft.control, command }))
}

/// `-d`, `-sFILE`, `-dc TEXT`.
fn short(
    letters: &[u8],
    draft: &mut Draft,
    words: &mut impl Iterator<Item = OsString>,
) -> Result<(), UsageError> {
    for (at, letter) in letters.iter().enumerate() {
        let option = Flag::short(*letter).ok_or_else(|| unknown(&[b'-', *letter]))?;
        if !option.takes_value() {
            draft.take(option, OsString::new())?;
            continue;
        }
        let value = match &letters[at + 1..] {
            [] => words.next().ok_or(UsageError::Missing(option.shown()))?,
            attached => os(attached),
        };
        return draft.take(option, value);
    }
    Ok(())
}

fn os(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

fn unknown(option: &[u8]) -> UsageError {
    UsageError::Unknown(OsStr::from_bytes(option).to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> Result<Said, UsageError> {
        parse(words.iter().map(OsString::from).collect())
    }

    fn args(words: &[&str]) -> SrtArgs {
        match said(words) {
            Ok(Said::Run(args)) => args,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    fn argv(words: &[&str]) -> CommandLine {
        CommandLine::Argv(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn words_reach_the_program_exactly() {
        assert_eq!(args(&["ls", "-d", "--settings", "x"]).command, argv(&["ls", "-d", "--settings", "x"]));
        assert_eq!(args(&["--", "-d", "--", "x"]).command, argv(&["-d", "--", "x"]));
        assert_eq!(args(&["echo", ""]).command, argv(&["echo", ""]));
        assert_eq!(args(&["-"]).command, argv(&["-"]));
    }

    #[test]
    fn options_in_every_spelling() {
        for words in [
            &["-s", "f", "-d", "x"][..],
            &["-sf", "-d", "x"],
            &["--settings=f", "--debug", "x"],
            &["-dsf", "x"],
        ] {
            let args = args(words);
            assert!(args.debug, "{words:?}");
            assert_eq!(args.settings, Some("f".into()), "{words:?}");
            assert_eq!(args.command, argv(&["x"]), "{words:?}");
        }
        assert_eq!(args(&["--control-fd", "3", "x"]).control, Some(3));
        assert_eq!(args(&["--control-fd=12", "x"]).control, Some(12));
    }

    #[test]
    fn shell_text() {
        for words in [&["-c", "echo hi"][..], &["-cecho hi"], &["-dc", "echo hi"], &["-c", "echo hi", "-d"]] {
            assert_eq!(args(words).command, CommandLine::Shell("echo hi".into()), "{words:?}");
        }
        assert_eq!(args(&["-c", "-d"]).command, CommandLine::Shell("-d".into()));
    }

    #[test]
    fn mistakes() {
        assert_eq!(said(&[]), Err(UsageError::NoCommand));
        assert_eq!(said(&["-d", "--"]), Err(UsageError::NoCommand));
        assert_eq!(said(&["--wrong", "x"]), Err(UsageError::Unknown("--wrong".into())));
        assert_eq!(said(&["-dz", "x"]), Err(UsageError::Unknown("-z".into())));
        assert_eq!(said(&["-s"]), Err(UsageError::Missing("-s, --settings <path>")));
        assert_eq!(said(&["--debug=1", "x"]), Err(UsageError::Unwanted("-d, --debug")));
        for wrong in ["2", "-1", "x", ""] {
            assert_eq!(said(&["--control-fd", wrong, "x"]), Err(UsageError::Control(wrong.into())));
        }
        assert!(UsageError::NoCommand.to_string().starts_with("no command specified"));
    }

    #[test]
    fn help_and_version() {
        assert_eq!(said(&["--help"]), Ok(Said::Help));
        assert_eq!(said(&["-h", "x"]), Ok(Said::Help));
        assert_eq!(said(&["--version"]), Ok(Said::Version));
        assert_eq!(said(&["-V"]), Ok(Said::Version));
    }
}
