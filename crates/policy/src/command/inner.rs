//! Texts that a command hands to a shell.

use super::part::Word;
use super::pattern::joined;
use super::strip::last_name;
use super::wrappers::is_launcher;

/// How many words of a command are taken for texts.
const MOST_TEXTS: usize = 8;

/// What a command hands to a shell.
pub(super) enum Inner {
    Nothing,
    Texts(Vec<String>),
    /// Something that is not known before it runs.
    Hidden,
}

/// The texts that a program with these arguments hands to a shell.
pub(super) fn inner(program: &str, rest: &[Word<'_>]) -> Inner {
    match last_name(program) {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "rbash" => shell(rest),
        "source" | "." => Inner::Hidden,
        "eval" => {
            let known: Option<Vec<&str>> = rest.iter().map(|word| word.value.as_deref()).collect();
            known.map_or(Inner::Hidden, |words| Inner::Texts(vec![words.join(" ")]))
        }
        "trap" => match rest.iter().find(|word| word.value.as_deref() != Some("--")) {
            Some(word) => text(word),
            None => Inner::Nothing,
        },
        "env" => split(rest),
        name if is_launcher(name) => {
            let is_text = |value: &&str| value.contains([' ', '\t', '\n', ';']);
            let texts = rest.iter().filter_map(|word| word.value.as_deref()).filter(is_text);
            Inner::Texts(texts.take(MOST_TEXTS).map(str::to_owned).collect())
        }
        _ => Inner::Nothing,
    }
}

fn text(word: &Word<'_>) -> Inner {
    word.value.as_deref().map_or(Inner::Hidden, |text| Inner::Texts(vec![text.to_owned()]))
}

/// What a shell runs: the text behind `-c`, or else a file or whatever comes in.
fn shell(rest: &[Word<'_>]) -> Inner {
    let is_option = |word: &Word<'_>| {
        word.value.as_deref().is_some_and(|value| value.len() > 1 && value.starts_with(['-', '+']))
    };
    let has_text = |word: &Word<'_>| {
        let value = word.value.as_deref().unwrap_or_default();
        value.starts_with('-') && !value.starts_with("--") && value.contains('c')
    };
    match rest.iter().position(has_text) {
        Some(at) => rest[at + 1..].iter().find(|word| !is_option(word)).map_or(Inner::Nothing, text),
        None => {
            let asks = |word: &Word<'_>| matches!(word.value.as_deref(), Some("--version" | "--help"));
            match rest.iter().find(|word| !is_option(word)).map(|word| word.value.as_deref()) {
                _ if rest.iter().any(asks) => Inner::Nothing,
                // A file is a program like any other.
                Some(Some(file)) if !reads_input(file) && !rest.iter().any(reads_all) => Inner::Nothing,
                _ => Inner::Hidden,
            }
        }
    }
}

fn reads_input(file: &str) -> bool {
    file == "-" || file.starts_with("/dev/") || file.starts_with("/proc/")
}

fn reads_all(word: &Word<'_>) -> bool {
    word.value.as_deref() == Some("-s")
}

/// The command in one word that `env -S` takes apart, among env's own options.
fn split(rest: &[Word<'_>]) -> Inner {
    let mut valued = false;
    for (at, word) in rest.iter().enumerate() {
        let Some(value) = word.value.as_deref() else { return Inner::Nothing };
        if !value.starts_with('-') && !value.contains('=') && !valued {
            return Inner::Nothing;
        }
        let short = value.strip_prefix('-').filter(|letters| !letters.starts_with('-')).and_then(|letters| {
            let (before, behind) = letters.split_once('S')?;
            before.bytes().all(|letter| matches!(letter, b'i' | b'0' | b'v')).then_some(behind)
        });
        let long = value.strip_prefix("--split-string").map(|behind| behind.trim_start_matches('='));
        if let Some(behind) = short.or(long).filter(|_| !valued) {
            let (first, others) = match (behind.is_empty(), rest.get(at + 1)) {
                (true, Some(next)) => (next.value.as_deref(), &rest[at + 2..]),
                (true, None) => return Inner::Nothing,
                (false, _) => (Some(behind), &rest[at + 1..]),
            };
            return first
                .map_or(Inner::Hidden, |first| Inner::Texts(vec![format!("{first} {}", joined(others))]));
        }
        valued = matches!(value, "-u" | "-C" | "--unset" | "--chdir");
    }
    Inner::Nothing
}
