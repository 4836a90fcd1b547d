//! What is said to the person on stderr.

use crate::stderr;
use std::fmt::Display;

/// How much is said, and in whose manner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Voice {
    pub(crate) level: Level,
    pub(crate) manner: Manner,
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Only errors.
    Quiet,
    /// Errors, warnings and refusals.
    Normal,
    /// Details too.
    Verbose,
}

/// In whose manner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Stockade,
    Srt,
}

impl Voice {
    /// The usual one.
    pub(crate) const NORMAL: Self = Self { level: Level::Normal, manner: Manner::Stockade };

    /// Something failed or was refused.
    pub(crate) fn error(self, what: impl Display) {
        let prefix = match self.manner {
            Manner::Stockade => "stockade: ",
            Manner::Srt => "Error: ",
        };
        write(&block(prefix, &what.to_string()));
    }

    /// The person gets something else than was asked for.
    pub(crate) fn warning(self, what: impl Display) {
        if self.level >= Level::Normal {
            write(&block("stockade: warning: ", &what.to_string()));
        }
    }

    /// Part of the words after a run. srt's users do not expect any.
    pub(crate) fn closing(self, what: impl Display) {
        match self.manner {
            Manner::Stockade if self.level >= Level::Normal => write(&block("stockade: ", &what.to_string())),
            Manner::Stockade => {}
            Manner::Srt => self.detail(what),
        }
    }

    /// Good to know when looking closely.
    pub(crate) fn detail(self, what: impl Display) {
        if self.level >= Level::Verbose {
            let text = what.to_string();
            write(&match self.manner {
                Manner::Stockade => block("stockade: ", &text),
                Manner::Srt => text.lines().map(|line| format!("[SandboxDebug] {line}\n")).collect(),
            });
        }
    }
}

/// `prefix what`, with hints indented below. A further line that is neither a hint nor indented is a
/// message of its own: settings may be wrong in several places at once.
fn block(prefix: &str, what: &str) -> String {
    let mut text = String::new();
    for (at, line) in what.trim_end().lines().enumerate() {
        if line.starts_with("hint:") {
            text.push_str("  ");
        } else if at == 0 || !(line.is_empty() || line.starts_with(' ')) {
            text.push_str(prefix);
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Names may hold escape sequences and change the direction of writing; that is shown, not obeyed.
pub(crate) fn harmless(text: &str) -> std::borrow::Cow<'_, str> {
    let turns = |letter: char| matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let odd = |letter: char| (letter.is_control() && letter != '\n' && letter != '\t') || turns(letter);
    if !text.contains(odd) {
        return text.into();
    }
    let show = |letter: char| {
        if odd(letter) { letter.escape_default().to_string() } else { letter.to_string() }
    };
    text.chars().map(show).collect::<String>().into()
}

fn write(text: &str) {
    stderr::write(harmless(text).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_indented() {
        assert_eq!(block("stockade: ", "it broke\nhint: mend it\n"), "stockade: it broke\n  hint: mend it\n");
        assert_eq!(block("s: ", "a\nhint: b\nc\nhint: d"), "s: a\n  hint: b\ns: c\n  hint: d\n");
        assert_eq!(block("s: ", "a\n\n  b"), "s: a\n\n  b\n");
    }

    #[test]
    fn escape_sequences_are_shown() {
        assert_eq!(harmless("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\n");
        assert_eq!(harmless("a\u{202e}b\u{2066}"), "a\\u{202e}b\\u{2066}");
        assert_eq!(harmless("plain\ttext\n"), "plain\ttext\n");
    }

    #[test]
    fn levels_are_ordered() {
        assert!(Level::Quiet < Level::Normal && Level::Normal < Level::Verbose);
    }
}
