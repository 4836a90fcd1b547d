//! Patterns for whole commands: `npm run lint`, `npm run test:*`, `docker*`.

use super::part::Word;
use super::reading::read_text;
use super::strip::Stripped;

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
        let begins = |wanted: &[String]| {
            words.len() >= wanted.len()
                && wanted.iter().zip(words).all(|(wanted, word)| word.value.as_deref() == Some(wanted))
        };
        match self {
            Self::Exact(wanted) => words.len() == wanted.len() && begins(wanted),
            Self::Prefix(wanted) => begins(wanted),
            Self::Wildcard(pattern) => wildcard_fits(pattern, words),
        }
    }
}

/// The words of a pattern, read as a shell would where it can be.
fn words(text: &str) -> Vec<String> {
    let reading = read_text(text);
    let plain = match reading.parts.as_slice() {
        [part] if reading.doubt.is_none() && part.assignments.is_empty() && part.redirections.is_empty() => {
            part.words.iter().map(|word| word.value.as_deref().map(str::to_owned)).collect()
        }
        _ => None,
    };
    plain.unwrap_or_else(|| text.split_whitespace().map(str::to_owned).collect())
}

fn wildcard_fits(pattern: &str, words: &[Word<'_>]) -> bool {
    let Some(program) = words.first().and_then(|word| word.value.as_deref()) else { return false };
    let literal = pattern.split([' ', '*']).next().unwrap_or_default();
    // `docker*` is not about a program `docker/../../bin/rm`.
    if let Some(slash) = program.rfind('/')
        && !literal.starts_with(&program[..=slash])
    {
        return false;
    }
    let known = words.iter().position(|word| word.value.is_none());
    match known {
        None => glob(pattern.as_bytes(), joined(words).as_bytes()),
        // What is not known may be anything, so only a star may stand for it, and for all that follows.
        Some(known) => match pattern.strip_suffix('*') {
            Some(literal) if !literal.contains('*') => {
                format!("{} ", joined(&words[..known])).starts_with(literal)
            }
            _ => false,
        },
    }
}

/// Words as one line that would be read as the same words again.
pub(super) fn joined(words: &[Word<'_>]) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        let value = word.value.as_deref().unwrap_or(word.raw);
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
