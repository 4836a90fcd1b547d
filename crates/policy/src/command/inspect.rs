//! Looking for denied commands: as they stand, behind wrappers, or as text for another shell.

use super::deny::DenyRule;
use super::globals::behind;
use super::inner::{Inner, inner};
use super::part::{Part, Word};
use super::reading::{Opinions, read_text};
use super::strip::{Purpose, last_name, strip};

/// How many shells inside shells are looked into.
const DEEPEST: usize = 4;

/// How many texts inside a text are looked into, and how long they are together.
const MOST_READINGS: usize = 64;
const MOST_LETTERS: usize = 64 * 1024;

/// How many words are compared with rules.
const MOST_LOOKS: usize = 200_000;

/// Looks for denied commands in one text, with patience for all of it together.
pub(crate) struct Inspector<'r> {
    rules: &'r [DenyRule],
    readings: usize,
    letters: usize,
    looks: usize,
}

/// What rules that deny say to a command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen<'r> {
    /// The first rule that refuses it.
    pub(crate) refused: Option<&'r DenyRule>,
    /// It may run something that no rule could have looked at.
    pub(crate) hidden: bool,
}

/// What has been seen so far.
#[derive(Default)]
struct Draft {
    refused: Option<usize>,
    hidden: bool,
}

impl<'r> Inspector<'r> {
    pub(crate) fn new(rules: &'r [DenyRule]) -> Self {
        Self { rules, readings: MOST_READINGS, letters: MOST_LETTERS, looks: MOST_LOOKS }
    }

    /// What the rules say to one command.
    pub(crate) fn part(&mut self, part: &Part<'_>) -> Seen<'r> {
        let mut draft = Draft::default();
        self.look(part, DEEPEST, &mut draft);
        self.told(draft)
    }

    /// What they say to a whole text.
    pub(crate) fn text(&mut self, text: &str) -> Seen<'r> {
        let mut draft = Draft::default();
        for part in &read_text(text, Opinions::Two).parts {
            self.look(part, DEEPEST, &mut draft);
        }
        self.told(draft)
    }

    fn told(&self, draft: Draft) -> Seen<'r> {
        Seen { refused: draft.refused.and_then(|at| self.rules.get(at)), hidden: draft.hidden }
    }

    fn look(&mut self, part: &Part<'_>, depth: usize, draft: &mut Draft) {
        let all = self.rules.iter().position(|rule| rule.what.fits_all());
        draft.refused = draft.refused.into_iter().chain(all).min();
        let stripped = strip(part, Purpose::Deny);
        draft.hidden |= stripped.unfinished;
        // What xargs and its like add to a command comes from elsewhere.
        let mut fed = false;
        for words in &stripped.stages {
            let Some((program, rest)) = words.split_first() else { continue };
            let Some(program) = program.value.as_deref() else {
                draft.hidden = true;
                continue;
            };
            self.compare(program, words, fed, draft);
            fed |= matches!(last_name(program), "xargs" | "parallel" | "find" | "fd" | "fdfind");
            match inner(program, rest) {
                Inner::Nothing => {}
                Inner::Hidden => draft.hidden = true,
                Inner::Texts(texts) => {
                    texts.iter().for_each(|text| self.look_inside(text, depth, draft));
                }
            }
        }
    }

    /// Compares one command with every rule that could still come first.
    fn compare(&mut self, program: &str, words: &[Word<'_>], fed: bool, draft: &mut Draft) {
        let still = draft.refused.unwrap_or(self.rules.len());
        for (at, rule) in self.rules[..still].iter().enumerate() {
            if !rule.what.names(program) {
                continue;
            }
            let Some(looks) = self.looks.checked_sub(words.len()) else {
                draft.hidden = true;
                return;
            };
            self.looks = looks;
            let behind = behind(program, words);
            let fits_behind = behind.as_ref().is_some_and(|behind| rule.what.fits(program, behind.words));
            if rule.what.fits(program, words) || fits_behind {
                draft.refused = Some(at);
                return;
            }
            draft.hidden |= behind.is_some_and(|behind| behind.hidden);
            draft.hidden |= fed || words.iter().any(|word| word.value.is_none());
        }
    }

    fn look_inside(&mut self, text: &str, depth: usize, draft: &mut Draft) {
        let letters = self.letters.checked_sub(text.len());
        let (Some(deeper), Some(readings), Some(letters)) =
            (depth.checked_sub(1), self.readings.checked_sub(1), letters)
        else {
            draft.hidden = true;
            return;
        };
        (self.readings, self.letters) = (readings, letters);
        let reading = read_text(text, Opinions::One);
        draft.hidden |= reading.doubt.is_some();
        for part in &reading.parts {
            self.look(part, deeper, draft);
        }
    }
}
