//! Patterns for whole commands: `npm run lint`, `npm run test:*`, `docker*`.

use super::part::Word;
use super::reading::{Opinions, read_text};
use super::strict::assigned;
use super::strip::{Purpose, Stripped};
use super::wrappers;

/// A pattern for whole commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandPattern {
    /// These words and no others.
    Exact(Vec<String>),
    /// These words, and any others behind them.
    Prefix(Vec<String>),
    /// Text in which `*` stands for anything.
    Wildcard(String),
}

/// A text that is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommandPatternError {
    #[error("cannot be empty")]
    Empty,
    #[error("has a * in front of :*")]
    StarInPrefix,
}

impl CommandPatternError {
    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::Empty => "write a command: `npm run lint`, `npm run test:*`, `docker*`",
            Self::StarInPrefix => "words and :* at the end, or text with * anywhere, not both",
        }
    }
}

impl CommandPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, CommandPatternError> {
        let text = text.trim();
        let (prefix, rest) = text.strip_suffix(":*").map_or((None, text), |prefix| (Some(prefix), prefix));
        if rest.trim().is_empty() {
            return Err(CommandPatternError::Empty);
        }
        match prefix {
            Some(prefix) if prefix.contains('*') => Err(CommandPatternError::StarInPrefix),
            Some(prefix) => Ok(Self::Prefix(words(prefix))),
            None if text.contains('*') => {
                Ok(Self::Wildcard(text.split_whitespace().collect::<Vec<_>>().join(" ")))
            }
            None => Ok(Self::Exact(words(text))),
        }
    }

    /// Whether a word stands in the pattern itself, not for something a star stands for.
    pub(crate) fn spells_out(&self, word: &str) -> bool {
        let named = |other: &str| {
            other.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        match self {
            Self::Exact(words) | Self::Prefix(words) => words.iter().any(|other| named(other)),
            Self::Wildcard(text) => text.split(' ').any(named),
        }
    }

    /// Why a text that is a pattern can never make a command run without walls, if that is so.
    pub(crate) fn futile(text: &str) -> Option<&'static str> {
        let text = text.trim();
        let (beginning, open) = match text.strip_suffix(":*").or_else(|| text.strip_suffix('*')) {
            Some(beginning) => (beginning, true),
            None => (text, text.contains('*')),
        };
        if text.contains(|letter: char| letter != ' ' && (letter.is_whitespace() || letter.is_control())) {
            return Some("it has a line break or a blank that is none");
        }
        if text.starts_with("Bash(") && text.ends_with(')') {
            return Some("write only what stands in the brackets");
        }
        if text.ends_with(':') {
            return Some("it ends with a colon; :* stands for any words that follow");
        }
        let first = text.split(' ').next().unwrap_or_default();
        if assigned(first).is_some() {
            return Some("variables in front of a command are taken off before patterns are tried");
        }
        if open && beginning.contains(' ') && wrappers::find(first, Purpose::Exclude).is_some() {
            return Some("programs like env and timeout are taken off before patterns are tried");
        }
        let reading = read_text(beginning, Opinions::One);
        match reading.parts.as_slice() {
            // Text in which stars stand for anything need not be a command.
            _ if beginning.contains('*') => None,
            [_, _, ..] => Some("each part of a command is tried alone; list them one by one"),
            [part] if !part.redirections.is_empty() => Some("redirections are no part of a pattern"),
            [part] if part.words.iter().any(|word| word.value.is_none()) => {
                Some("what a shell would put in place of a word is not known when patterns are tried")
            }
            _ => None,
        }
    }

    /// Whether every word of what it fits is in it.
    pub(crate) fn names_all(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// Whether it fits any command at all.
    pub(crate) fn fits_all(&self) -> bool {
        matches!(self, Self::Wildcard(text) if text.bytes().all(|byte| matches!(byte, b'*' | b' ')))
    }

    /// Whether a command is meant, once everything in front of its program is taken off. A pattern that names
    /// every word may name what was taken off too.
    pub(crate) fn excludes(&self, stripped: &Stripped<'_, '_>) -> bool {
        match self {
            Self::Exact(_) => stripped.stages.iter().any(|words| self.fits(words)),
            _ => self.fits(stripped.command()),
        }
    }

    /// Whether these very words are meant.
    pub(crate) fn fits(&self, words: &[Word<'_>]) -> bool {
        let program = words.first().and_then(|word| word.value.as_deref());
        program.is_some_and(|program| self.fits_as(program, words))
    }

    /// The same, with another name for the program.
    pub(super) fn fits_as(&self, program: &str, words: &[Word<'_>]) -> bool {
        let begins = |wanted: &[String]| {
            let same = |(wanted, word): (&String, &Word<'_>)| word.value.as_deref() == Some(wanted);
            words.len() >= wanted.len()
                && wanted.first().is_some_and(|wanted| wanted == program)
                && wanted.iter().zip(words).skip(1).all(same)
        };
        match self {
            Self::Exact(wanted) => words.len() == wanted.len() && begins(wanted),
            Self::Prefix(wanted) => begins(wanted),
            Self::Wildcard(pattern) => wildcard_fits(pattern, program, words),
        }
    }

    /// Whether commands of this program can be meant.
    pub(super) fn names(&self, program: &str) -> bool {
        match self {
            Self::Exact(wanted) | Self::Prefix(wanted) => {
                wanted.first().is_some_and(|first| first == program)
            }
            Self::Wildcard(pattern) => {
                let first = pattern.split(' ').next().unwrap_or_default();
                // A star in the first word may stand for what follows as well.
                match first.split_once('*') {
                    Some((beginning, _)) => program.starts_with(beginning),
                    None => first == program,
                }
            }
        }
    }
}

/// The words of a pattern, read as a shell would where it can be.
fn words(text: &str) -> Vec<String> {
    let reading = read_text(text, Opinions::Two);
    let plain = match reading.parts.as_slice() {
        [part] if reading.doubt.is_none() && part.assignments.is_empty() && part.redirections.is_empty() => {
            part.words.iter().map(|word| word.value.as_deref().map(str::to_owned)).collect()
        }
        _ => None,
    };
    plain.unwrap_or_else(|| text.split_whitespace().map(str::to_owned).collect())
}

fn wildcard_fits(pattern: &str, program: &str, words: &[Word<'_>]) -> bool {
    let literal = pattern.split([' ', '*']).next().unwrap_or_default();
    // `docker*` is not about a program `docker/../../bin/rm`.
    if let Some(slash) = program.rfind('/')
        && !literal.starts_with(&program[..=slash])
    {
        return false;
    }
    let known = words.iter().position(|word| word.value.is_none());
    match known {
        None => glob(pattern.as_bytes(), joined_as(Some(program), words).as_bytes()),
        // What is not known may be anything, so only a star may stand for it, and for all that follows.
        Some(known) => match pattern.strip_suffix('*') {
            Some(literal) if !literal.contains('*') => {
                format!("{} ", joined_as(Some(program), &words[..known])).starts_with(literal)
            }
            _ => false,
        },
    }
}

/// Words as one line that would be read as the same words again.
pub(super) fn joined(words: &[Word<'_>]) -> String {
    joined_as(None, words)
}

/// The same, with another name for the program.
fn joined_as(program: Option<&str>, words: &[Word<'_>]) -> String {
    let mut line = String::new();
    for (at, word) in words.iter().enumerate() {
        if !line.is_empty() {
            line.push(' ');
        }
        let own = word.value.as_deref().unwrap_or(word.raw);
        let value = program.filter(|_| at == 0).unwrap_or(own);
        let special =
            |letter: char| letter.is_whitespace() || letter.is_control() || "'\"\\`$;&|<>()".contains(letter);
        if value.is_empty() || value.contains(special) {
            line.push('\'');
            line.push_str(&value.replace('\'', "'\\''"));
            line.push('\'');
        } else {
            line.push_str(value);
        }
    }
    line
}

/// Whether a text fits a pattern in which `*` stands for anything. Goes back to the last star only, so that the
/// time does not explode.
pub(super) fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen, mut star) = (0, 0, None);
    while seen < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(letter) if *letter == text[seen] => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                Some((place, from)) => {
                    star = Some((place, from + 1));
                    at = place + 1;
                    seen = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == b'*')
}
