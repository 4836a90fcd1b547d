//! Taking a command line apart. What is said to be certain was read the same way twice.

use super::part::{Doubt, Part, Reading, Word};
use super::{strict, tree};
use crate::CommandLine;
use std::borrow::Cow;
use std::ffi::OsString;

/// Longer texts are not looked at.
const LONGEST: usize = 64 * 1024;

/// How many readers have to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opinions {
    /// The strict one is enough: nothing will run without walls because of it.
    One,
    /// Both.
    Two,
}

/// Takes a command line apart.
pub(crate) fn read(command: &CommandLine, opinions: Opinions) -> Reading<'_> {
    match command {
        CommandLine::Argv(words) => read_argv(words),
        CommandLine::Shell(text) => match text.to_str() {
            Some(text) => read_with(text, opinions),
            None => unread(text.to_string_lossy(), Doubt::Encoding),
        },
    }
}

/// Takes a shell text apart.
pub(crate) fn read_text(text: &str) -> Reading<'_> {
    read_with(text, Opinions::Two)
}

fn read_with(text: &str, opinions: Opinions) -> Reading<'_> {
    if text.len() > LONGEST {
        return unread(Cow::Borrowed(text), Doubt::Length);
    }
    let strict = strict::read(text);
    match strict {
        Ok(parts) if opinions == Opinions::One => Reading { parts, doubt: None },
        // Nothing in it could be read in another way.
        Ok(parts) if parts.len() == 1 && is_plain(text) => Reading { parts, doubt: None },
        Ok(parts) => {
            let (seen, doubt) = tree::read(text);
            compare(parts, seen, doubt)
        }
        Err(doubt) => {
            let (parts, _) = tree::read(text);
            if parts.is_empty() {
                unread(Cow::Borrowed(text), doubt)
            } else {
                Reading { parts, doubt: Some(doubt) }
            }
        }
    }
}

fn read_argv(words: &[OsString]) -> Reading<'_> {
    let mut part = Part::default();
    for word in words {
        let Some(known) = word.to_str() else {
            let text = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
            return unread(Cow::Owned(text), Doubt::Encoding);
        };
        part.words.push(Word { raw: known, value: Some(Cow::Borrowed(known)) });
    }
    part.text = Cow::Owned(super::pattern::joined(&part.words));
    Reading { parts: vec![part], doubt: None }
}

fn unread(text: Cow<'_, str>, doubt: Doubt) -> Reading<'_> {
    Reading { parts: vec![Part { text, ..Part::default() }], doubt: Some(doubt) }
}

fn compare<'t>(parts: Vec<Part<'t>>, seen: Vec<Part<'t>>, doubt: Option<Doubt>) -> Reading<'t> {
    let ours = parts.iter().filter(|part| has_words(part));
    let theirs = seen.iter().filter(|part| has_words(part));
    let same = ours.clone().count() == theirs.clone().count()
        && ours.zip(theirs).all(|(one, other)| agree(one, other));
    if same && doubt.is_none() {
        return Reading { parts, doubt: None };
    }
    // Rules that deny should see whatever either of them saw.
    let mut all = parts;
    for part in seen {
        if !all.iter().any(|known| agree(known, &part)) {
            all.push(part);
        }
    }
    all.sort_by_key(|part| part.start);
    Reading { parts: all, doubt: doubt.or(Some(Doubt::Disagreement)) }
}

fn has_words(part: &Part<'_>) -> bool {
    !part.words.is_empty()
}

fn agree(one: &Part<'_>, other: &Part<'_>) -> bool {
    let words = |part: &Part<'_>| {
        part.words.iter().map(|word| word.raw.as_bytes().as_ptr_range()).collect::<Vec<_>>()
    };
    one.assignments == other.assignments && words(one) == words(other)
}

/// Whether a text is one line of letters that mean themselves.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b' ' | b'_' | b'-' | b'.' | b'/' | b':' | b'=' | b'@' | b'%' | b'+' | b',')
    })
}
