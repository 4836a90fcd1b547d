//! From a file's bytes to typed settings, with every mistake named at once.

use super::error::SettingsError;
use super::jsonc;
use super::object::Object;
use super::suggest::nearest;
use super::wanted;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path as KeyPath, Segment};
use std::path::Path;

/// No file has more mistakes than a person wants to read at once.
const MOST_ERRORS: usize = 50;

/// What happens to keys the settings do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownKeys {
    /// Each is an error.
    Refused,
    /// They are ignored and listed, except below this key, where each is an error.
    IgnoredExcept(&'static str),
    /// They are ignored and listed.
    Ignored,
}

/// Settings, and the keys that were ignored.
pub(crate) struct Read<T> {
    pub(crate) settings: T,
    pub(crate) ignored: Vec<String>,
}

/// Parses one file.
pub(crate) fn parse<T: DeserializeOwned>(
    path: &Path,
    bytes: &[u8],
    unknown: UnknownKeys,
) -> Result<Read<T>, Vec<SettingsError>> {
    let not_json = |line, column, reason: &str| {
        vec![SettingsError::NotJson { path: path.to_owned(), line, column, reason: reason.to_owned() }]
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
            return Err(not_json(line, column, "not UTF-8 text"));
        }
    };
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(vec![SettingsError::Empty { path: path.to_owned() }]);
    }
    let plain = jsonc::plain(text);
    let first = match serde_json::from_str(&plain) {
        Ok(Object(settings)) => return Ok(Read { settings, ignored: Vec::new() }),
        Err(error) => error,
    };
    match serde_json::from_str::<Value>(&plain) {
        Ok(value) => match Mistakes::new(path, unknown).collect(value) {
            // A key that stands there twice is lost on the way through a value.
            Ok(read) if read.ignored.is_empty() => Err(vec![SettingsError::Invalid {
                source_name: path.display().to_string(),
                key: format!("line {}, column {}", first.line(), first.column()),
                reason: without_place(&first.to_string()).to_owned(),
                hint: "keep one of the two".to_owned(),
            }]),
            result => result,
        },
        Err(error) => Err(not_json(error.line(), error.column(), without_place(&error.to_string()))),
    }
}

/// A parser's message without the line and column, which are told apart.
fn without_place(message: &str) -> &str {
    message.split(" at line ").next().unwrap_or(message)
}

/// Finds one mistake, takes it out, and looks for the next.
struct Mistakes<'a> {
    path: &'a Path,
    unknown: UnknownKeys,
    errors: Vec<SettingsError>,
    ignored: Vec<String>,
    /// Array elements taken out so far, so that later indexes are told as the file has them.
    removed: Vec<(String, usize)>,
}

impl<'a> Mistakes<'a> {
    fn new(path: &'a Path, unknown: UnknownKeys) -> Self {
        Self { path, unknown, errors: Vec::new(), ignored: Vec::new(), removed: Vec::new() }
    }

    fn collect<T: DeserializeOwned>(mut self, mut value: Value) -> Result<Read<T>, Vec<SettingsError>> {
        while self.errors.len() < MOST_ERRORS {
            // A clone per mistake is fine: this road is only taken by files that have some.
            let error = match serde_path_to_error::deserialize::<_, Object<T>>(value.clone()) {
                Ok(Object(settings)) if self.errors.is_empty() => {
                    return Ok(Read { settings, ignored: self.ignored });
                }
                Ok(_) => break,
                Err(error) => error,
            };
            let message = error.inner().to_string();
            self.note(error.path(), &message);
            if !self.take_out(&mut value, error.path()) {
                break;
            }
        }
        Err(self.errors)
    }

    fn note(&mut self, path: &KeyPath, message: &str) {
        let key = self.key(path);
        let (reason, hint) = match quoted(message).as_slice() {
            [name, known @ ..] if message.starts_with("unknown field") => {
                let heard = match self.unknown {
                    UnknownKeys::Refused => true,
                    UnknownKeys::IgnoredExcept(strict) => key
                        .strip_prefix(strict)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '['])),
                    UnknownKeys::Ignored => false,
                };
                if !heard {
                    self.ignored.push(key);
                    return;
                }
                (format!("Unrecognized key {name}"), suggestion(name, known))
            }
            [name, known @ ..] if message.starts_with("unknown variant") => {
                (format!("{name} is none of {}", known.join(", ")), suggestion(name, known))
            }
            _ => (message.to_owned(), wanted::hint(message)),
        };
        let key = if key.is_empty() { "the whole file".to_owned() } else { key };
        self.errors.push(SettingsError::Invalid {
            source_name: self.path.display().to_string(),
            key,
            reason,
            hint,
        });
    }

    fn key(&self, path: &KeyPath) -> String {
        let mut key = String::new();
        for segment in path {
            match segment {
                Segment::Seq { index } => {
                    let mut original = *index;
                    let mut gone: Vec<usize> =
                        self.removed.iter().filter(|(at, _)| *at == key).map(|(_, at)| *at).collect();
                    gone.sort_unstable();
                    for gone in gone {
                        original += usize::from(gone <= original);
                    }
                    key.push_str(&format!("[{original}]"));
                }
                Segment::Map { key: name } | Segment::Enum { variant: name } => {
                    if !key.is_empty() {
                        key.push('.');
                    }
                    key.push_str(name);
                }
                Segment::Unknown => {}
            }
        }
        key
    }

    fn take_out(&mut self, value: &mut Value, path: &KeyPath) -> bool {
        let key = self.key(path);
        let steps: Vec<&Segment> = path.iter().filter(|step| !matches!(step, Segment::Unknown)).collect();
        let Some((last, parents)) = steps.split_last() else { return false };
        let mut place = value;
        for step in parents {
            let next = match step {
                Segment::Seq { index } => place.get_mut(*index),
                Segment::Map { key } | Segment::Enum { variant: key } => place.get_mut(key),
                Segment::Unknown => return false,
            };
            let Some(next) = next else { return false };
            place = next;
        }
        match (last, place) {
            (Segment::Seq { index }, Value::Array(list)) if *index < list.len() => {
                list.remove(*index);
                let (array, original) = key.rsplit_once('[').unwrap_or((&key, ""));
                let original = original.trim_end_matches(']').parse().unwrap_or(*index);
                self.removed.push((array.to_owned(), original));
                true
            }
            (Segment::Map { key } | Segment::Enum { variant: key }, Value::Object(map)) => {
                map.shift_remove(key).is_some()
            }
            _ => false,
        }
    }
}

/// The words between back-quotes.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

fn suggestion(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None if known.is_empty() => "remove it".to_owned(),
        None => format!("known here: {}", known.join(", ")),
    }
}
