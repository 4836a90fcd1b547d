//! A configuration that comes to be.

use super::keys::KEYS;
use super::parse::{Entry, parse};
use super::places::GitPlaces;
use super::refusal::GitRefusal;
use std::collections::HashSet;

const BIGGEST: usize = 1 << 20;

/// Older versions of git take what follows in a longer line for a line of its own when they rename a section.
const LONGEST_LINE: usize = 1000;

/// Whether a text may become a repository's configuration: every key is known to be inert.
///
/// # Errors
///
/// The first key that is not, or what keeps the text from being read as git reads it.
pub fn check_git_config(text: &[u8], places: &GitPlaces) -> Result<(), GitRefusal> {
    for entry in read(text, b"")? {
        check(&entry, places)?;
    }
    Ok(())
}

/// Every value that a text gives to a key, in order. The name is spelled as git compares it: lower case but
/// for the subsection. A key without `=` has none.
///
/// # Errors
///
/// What keeps the text from being read as git reads it.
pub fn git_config_values(text: &[u8], name: &[u8]) -> Result<Vec<Vec<u8>>, GitRefusal> {
    let entries = parse(text)?.into_iter().filter(|entry| entry.name == name);
    Ok(entries.filter_map(|entry| entry.value).collect())
}

/// The keys of a text whose lines are plain, or stand in the text that is there now.
pub(super) fn read(text: &[u8], present: &[u8]) -> Result<Vec<Entry>, GitRefusal> {
    check_size(text)?;
    let known: HashSet<&[u8]> = lines(present).collect();
    for (number, line) in lines(text).enumerate() {
        if !known.contains(line) {
            check_line(line).map_err(|reason| GitRefusal::new(b"", number + 1, reason))?;
        }
    }
    parse(text)
}

/// One key by itself.
pub(super) fn check(entry: &Entry, places: &GitPlaces) -> Result<(), GitRefusal> {
    KEYS.check(entry, places).map_err(|reason| GitRefusal::new(&entry.name, entry.line, reason))
}

/// What no configuration may be.
pub(super) fn check_size(text: &[u8]) -> Result<(), GitRefusal> {
    if text.len() > BIGGEST {
        return Err(GitRefusal::new(b"", 0, "the configuration is bigger than 1 MiB"));
    }
    if text.contains(&0) {
        return Err(GitRefusal::new(b"", 0, "the configuration holds a NUL byte"));
    }
    Ok(())
}

/// Other programs read this file too, and do not all agree on where a lone CR or a form feed leaves them.
fn check_line(line: &[u8]) -> Result<(), &'static str> {
    if line.len() > LONGEST_LINE {
        return Err("the line is longer than 1000 bytes, which older versions of git misread");
    }
    if line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err("the line holds a control character");
    }
    Ok(())
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r\n").or_else(|| line.strip_suffix(b"\n")).unwrap_or(line))
}
