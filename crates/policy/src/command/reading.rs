//! Taking a command line apart. What is said to be certain was read the same way twice.

use super::part::{Doubt, Part, Reading, Word};
use super::{strict, tree};
use crate::CommandLine;
use std::borrow::Cow;
use std::ffi::OsString;

/// Longer texts are not looked at.
const LONGEST: usize = 64 * 1024;

/// Nor are those with more brackets inside each other.
const DEEPEST: usize = 50;

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
            Some(text) => read_text(text, opinions),
            None => unread(text.to_string_lossy(), Doubt::Encoding),
        },
    }
}

/// Takes a shell text apart.
pub(super) fn read_text(text: &str, opinions: Opinions) -> Reading<'_> {
    if text.len() > LONGEST {
        return unread(Cow::Borrowed(text), Doubt::Length);
    }
    if is_deep(text) {
        return unread(Cow::Borrowed(text), Doubt::Depth);
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
        // What has been seen is enough for rules that deny.
        Err((doubt @ Doubt::Parts, parts)) => Reading { parts, doubt: Some(doubt) },
        Err((doubt, begun)) => {
            let (seen, _) = tree::read(text);
            let parts = if seen.is_empty() { begun } else { seen };
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
    let same = |(one, other): (&Word<'_>, &Word<'_>)| {
        one.raw.as_bytes().as_ptr_range() == other.raw.as_bytes().as_ptr_range()
    };
    one.assignments == other.assignments
        && one.words.len() == other.words.len()
        && one.words.iter().zip(&other.words).all(same)
}

/// Whether brackets are opened in brackets as nobody writes them, quoted or not. Readers take long over those.
fn is_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEPEST
    })
}

/// Whether a text is one line of letters that mean themselves.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b' ' | b'_' | b'-' | b'.' | b'/' | b':' | b'=' | b'@' | b'%' | b'+' | b',')
    })
}
