//! Options that stand between a program and its command: `git -C x push` is a push.

use super::part::Word;
use super::pattern::glob;
use super::strip::last_name;
use crate::data::{self, Globals};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Needed only where there are rules that deny or ask.
static KNOWN: LazyLock<BTreeMap<String, Globals>> = LazyLock::new(|| data::commands().globals);

/// A command behind its program's own options.
pub(super) struct Behind<'p, 't> {
    /// Its words; the first one stands in the program's place.
    pub(super) words: &'p [Word<'t>],
    /// What it is, cannot be told.
    pub(super) hidden: bool,
}

/// The command behind the options of a program, if it has any that stand in front of one.
pub(super) fn behind<'p, 't>(program: &str, words: &'p [Word<'t>]) -> Option<Behind<'p, 't>> {
    let globals = KNOWN.get(last_name(program))?;
    let (mut at, mut hidden) = (1, false);
    while let Some(word) = words.get(at) {
        let Some(option) = word.value.as_deref() else {
            hidden = true;
            break;
        };
        match globals.taken(option) {
            Taken::Nothing => break,
            Taken::Unknown => {
                hidden = true;
                break;
            }
            Taken::Option => at += 1,
            Taken::WithValue(own) => {
                let value = own.or_else(|| words.get(at + 1).and_then(|word| word.value.as_deref()));
                hidden |= value.is_none_or(|value| globals.renames(value));
                at += if own.is_some() { 1 } else { 2 };
            }
        }
    }
    let words = words.get(at - 1..).unwrap_or_default();
    (at > 1 || hidden).then_some(Behind { words, hidden })
}

/// What a word is.
enum Taken<'o> {
    /// The command.
    Nothing,
    Option,
    /// An option with a value, its own one or the next word.
    WithValue(Option<&'o str>),
    Unknown,
}

impl Globals {
    fn taken<'o>(&self, word: &'o str) -> Taken<'o> {
        if self.alone.iter().any(|known| glob(known.as_bytes(), word.as_bytes())) {
            return Taken::Option;
        }
        if !word.starts_with('-') {
            return Taken::Nothing;
        }
        for known in &self.with_value {
            match word.strip_prefix(known.as_str()) {
                Some("") => return Taken::WithValue(None),
                // `--option=value`, `-ovalue`.
                Some(rest) if rest.starts_with('=') => return Taken::WithValue(Some(&rest[1..])),
                Some(rest) if !known.starts_with("--") => return Taken::WithValue(Some(rest)),
                _ => {}
            }
        }
        Taken::Unknown
    }

    fn renames(&self, value: &str) -> bool {
        let value = value.to_ascii_lowercase();
        self.renaming.iter().any(|beginning| value.starts_with(beginning))
    }
}
