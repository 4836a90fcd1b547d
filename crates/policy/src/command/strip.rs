//! Taking off what stands in front of the program that matters: assignments and wrappers.

use super::part::{Assigned, Assignment, Part, Word};
use super::strict::assigned;
use super::wrappers::{self, Assigns, Wrapper};
use std::borrow::Cow;

/// More wrappers in front of each other are not taken off.
const MOST_STAGES: usize = 16;

/// How many words are tried where any of them may be the program.
const MOST_GUESSES: usize = 32;

/// Why a command is stripped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To run it without walls: every option must be known.
    Exclude,
    /// To refuse it: a guess is better than nothing.
    Deny,
}

/// A command without its wrappers.
#[derive(Debug)]
pub(crate) struct Stripped<'p, 't> {
    /// Every stage, from all words to the last command.
    pub(crate) stages: Vec<&'p [Word<'t>]>,
    /// Variables set on the way.
    pub(crate) assignments: Vec<Assignment<'t>>,
    /// What of a wrapper's words nobody knows here.
    pub(crate) unknown_word: Option<&'p str>,
    /// There may be more behind it than the stages.
    pub(crate) unfinished: bool,
}

impl<'p, 't> Stripped<'p, 't> {
    /// What is left at the end.
    pub(crate) fn command(&self) -> &'p [Word<'t>] {
        self.stages.last().copied().unwrap_or_default()
    }

    /// Takes every word for the program that may be it.
    fn guess(&mut self, rest: &'p [Word<'t>]) {
        self.stages.extend((0..rest.len().min(MOST_GUESSES)).map(|at| &rest[at..]));
        self.unfinished |= rest.len() > MOST_GUESSES;
    }
}

/// What stands behind a wrapper.
enum Behind<'p, 't> {
    Nothing,
    Command(&'p [Word<'t>]),
    /// The command is among these words.
    Somewhere(&'p [Word<'t>]),
}

/// Takes wrappers off until nothing changes.
pub(crate) fn strip<'p, 't>(part: &'p Part<'t>, purpose: Purpose) -> Stripped<'p, 't> {
    let mut stripped = Stripped {
        stages: vec![part.words.as_slice()],
        assignments: part.assignments.clone(),
        unknown_word: None,
        unfinished: false,
    };
    loop {
        match step(&mut stripped, purpose) {
            Behind::Nothing => return stripped,
            Behind::Command(_) if stripped.stages.len() == MOST_STAGES => {
                stripped.unfinished = true;
                return stripped;
            }
            Behind::Command(rest) => stripped.stages.push(rest),
            Behind::Somewhere(rest) => {
                stripped.guess(rest);
                return stripped;
            }
        }
    }
}

/// The command behind the first wrapper, if there is one.
fn step<'p, 't>(stripped: &mut Stripped<'p, 't>, purpose: Purpose) -> Behind<'p, 't> {
    let Some((first, words)) = stripped.command().split_first() else { return Behind::Nothing };
    let Some(program) = first.value.as_deref() else { return Behind::Nothing };
    if purpose == Purpose::Deny && matches!(last_name(program), "find" | "fd" | "fdfind") {
        return executed(words);
    }
    let Some(wrapper) = wrappers::find(program, purpose) else { return Behind::Nothing };
    if wrapper.is_guessed() {
        return Behind::Somewhere(words);
    }
    match options(stripped, wrapper, words, purpose) {
        Some(rest) => operands(stripped, wrapper, words, rest, purpose),
        None if purpose == Purpose::Deny && stripped.unknown_word.is_none() => Behind::Somewhere(words),
        None => Behind::Nothing,
    }
}

/// What stands behind a wrapper's options, if all of them are known.
fn options<'p, 't>(
    stripped: &mut Stripped<'p, 't>,
    wrapper: &Wrapper,
    words: &'p [Word<'t>],
    purpose: Purpose,
) -> Option<&'p [Word<'t>]> {
    let mut rest = words;
    while let Some(word) = rest.first() {
        let Some(option) = word.value.as_deref() else {
            // It may be an option, a command, or several words.
            return if purpose == Purpose::Deny && word.raw.starts_with('-') { None } else { Some(rest) };
        };
        if option == "--" {
            return Some(&rest[1..]);
        }
        if !option.starts_with('-') {
            break;
        }
        // Only says where the program lies.
        let looks_up = wrapper.name == "command" && matches!(option, "-v" | "-V");
        // Behind the first one a shell's own `time` expects the command.
        let again = wrapper.name == "time" && purpose == Purpose::Exclude && rest.len() != words.len();
        let taken = wrapper.option(option, purpose).filter(|_| !looks_up && !again);
        let Some(taken) = taken else {
            if looks_up || purpose == Purpose::Exclude {
                stripped.unknown_word = word.value.as_deref();
            }
            return None;
        };
        rest = rest.get(taken..)?;
    }
    Some(rest)
}

/// The command behind a wrapper's own words.
fn operands<'p, 't>(
    stripped: &mut Stripped<'p, 't>,
    wrapper: &Wrapper,
    words: &'p [Word<'t>],
    mut rest: &'p [Word<'t>],
    purpose: Purpose,
) -> Behind<'p, 't> {
    if wrapper.assigns == Assigns::Always || (wrapper.assigns == Assigns::Guessed && purpose == Purpose::Deny)
    {
        while let Some(assignment) = rest.first().and_then(|word| set_by(word, purpose)) {
            stripped.assignments.push(assignment);
            rest = &rest[1..];
        }
    }
    let Some((_, command)) = rest.split_at_checked(wrapper.operands) else { return Behind::Nothing };
    if command.is_empty() {
        return Behind::Nothing;
    }
    let own = &words[..words.len() - command.len()];
    // A word that the shell changes may become several, and one of them the command.
    match own.iter().find(|word| word.value.is_none()) {
        Some(word) if purpose == Purpose::Exclude => {
            stripped.unknown_word = Some(word.raw);
            Behind::Nothing
        }
        Some(_) => Behind::Somewhere(words),
        None => Behind::Command(command),
    }
}

/// What `find` runs.
fn executed<'p, 't>(words: &'p [Word<'t>]) -> Behind<'p, 't> {
    let runs = |word: &Word<'_>| {
        let option = word.value.as_deref().unwrap_or_default();
        matches!(option, "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch")
    };
    match words.iter().position(runs) {
        // The same command may run several.
        Some(at) if words[at + 1..].iter().any(runs) => Behind::Somewhere(&words[at + 1..]),
        Some(at) if at + 1 < words.len() => Behind::Command(&words[at + 1..]),
        _ => Behind::Nothing,
    }
}

/// The variable a word sets for the command behind it; quotes do not matter here.
fn set_by<'t>(word: &Word<'t>, purpose: Purpose) -> Option<Assignment<'t>> {
    let known = word.value.as_deref().and_then(|value| value.split_once('='));
    let known = known.map(|(name, value)| Assignment {
        name: Cow::Owned(name.to_owned()),
        value: Assigned::Known(Cow::Owned(value.to_owned())),
    });
    let guess = || assigned(word.raw).filter(|_| purpose == Purpose::Deny);
    known.or_else(|| guess().map(|name| Assignment { name: Cow::Borrowed(name), value: Assigned::Unknown }))
}

/// The name of a program, wherever it lies.
pub(super) fn last_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
