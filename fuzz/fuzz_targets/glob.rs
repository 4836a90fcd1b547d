//! Globs against a matcher that tries everything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stockade_policy::Glob;

/// Letters of patterns and paths: few, so that matches happen.
const LETTERS: &[u8] = b"ab/*?";

fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
}

fn fits(wanted: &[&str], names: &[&str]) -> bool {
    match (wanted, names) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=names.len()).any(|skip| fits(rest, &names[skip..])),
        ([first, rest @ ..], [name, names @ ..]) => {
            name_fits(first.as_bytes(), name.as_bytes()) && fits(rest, names)
        }
        _ => false,
    }
}

fn name_fits(wanted: &[u8], name: &[u8]) -> bool {
    match (wanted, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|skip| name_fits(rest, &name[skip..])),
        ([b'?', rest @ ..], [_, name @ ..]) => name_fits(rest, name),
        ([letter, rest @ ..], [other, name @ ..]) => letter == other && name_fits(rest, name),
        _ => false,
    }
}

fuzz_target!(|bytes: &[u8]| {
    // Anything at all must not panic.
    if let Ok(any) = std::str::from_utf8(bytes) {
        Glob::relative(any).matches(any.split('/').map(str::as_bytes));
    }
    // The slow matcher takes exponential time on long patterns.
    let (pattern, path) = bytes.split_at(bytes.len().min(12) / 2);
    let (pattern, path) = (text(pattern), text(&path[..path.len().min(8)]));
    let wanted: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let names: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    // A rule holds for everything below what it names; a `**` at the end is taken off before a glob is made.
    if names.is_empty() || wanted.is_empty() || wanted.last() == Some(&"**") {
        return;
    }
    let found = Glob::relative(&pattern).matches(names.iter().map(|name| name.as_bytes()));
    assert_eq!(found, fits(&wanted, &names), "{pattern:?} {path:?}");
});
