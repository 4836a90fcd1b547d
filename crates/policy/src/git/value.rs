//! What values have to be.

use super::path::has_git;
use super::places::GitPlaces;
use super::refusal::shown;
use super::url::check_url;
use super::worktree::check_worktree;
use serde::Deserialize;

/// The check a key's value has to pass.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Kind {
    /// The common spellings only. Git takes other numbers too, but what is too big for it is then no boolean.
    Boolean,
    /// A whole number, with k, m or g behind it.
    Number,
    /// Either.
    BooleanOrNumber,
    /// A boolean or one of these.
    BooleanOr(Vec<String>),
    /// One of these, in this spelling.
    OneOf(Vec<String>),
    /// Letters, digits and what lists, colours and dates are made of.
    Words,
    /// Anything a person might write.
    Text,
    /// The name of a branch or other ref.
    Ref,
    /// What `fetch` and `push` are made of.
    Refspec,
    /// A repository's address, or a remote's name.
    Url,
    /// The working tree of a submodule.
    Worktree,
    /// Whether there is no working tree: never where git expects one.
    Bare,
}

impl Kind {
    /// Whether the value is harmless. A key without `=` is a boolean that is true.
    pub(super) fn check(&self, value: Option<&[u8]>, places: &GitPlaces) -> Result<(), String> {
        let Some(value) = value else {
            return match self {
                Self::Boolean | Self::BooleanOrNumber | Self::BooleanOr(_) => Ok(()),
                _ => Err("it has no value".to_owned()),
            };
        };
        let among = |list: &[String]| list.iter().any(|allowed| allowed.as_bytes() == value);
        let must = |holds: bool, what: &str| {
            if holds { Ok(()) } else { Err(format!("\"{}\" is not {what}", shown(value))) }
        };
        match self {
            Self::Boolean => must(is_boolean(value), "true or false"),
            Self::Number => must(is_number(value), "a number"),
            Self::BooleanOrNumber => must(is_boolean(value) || is_number(value), "true, false or a number"),
            Self::BooleanOr(list) => {
                must(is_boolean(value) || among(list), &format!("true, false or {}", list.join(", ")))
            }
            Self::OneOf(list) => must(among(list), &format!("an allowed value ({})", list.join(", "))),
            Self::Words => must(value.iter().all(|byte| is_word(*byte)), "made of plain words"),
            Self::Text => must(!value.iter().any(|byte| is_odd(*byte)), "free of control characters"),
            Self::Ref => must(is_ref(value), "the name of a branch"),
            Self::Refspec => must(is_refspec(value), "a refspec"),
            Self::Url => check_url(value),
            Self::Worktree => check_worktree(value, places),
            Self::Bare => {
                let apart = !has_git(&places.git_directory);
                must(value == b"false" || apart && value == b"true", "an allowed value (false)")
            }
        }
    }
}

fn is_boolean(value: &[u8]) -> bool {
    let known: [&[u8]; 9] = [b"true", b"yes", b"on", b"1", b"false", b"no", b"off", b"0", b""];
    known.iter().any(|known| value.eq_ignore_ascii_case(known))
}

fn is_number(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"-").unwrap_or(value);
    let digits = match value.split_last() {
        Some((b'k' | b'm' | b'g' | b'K' | b'M' | b'G', digits)) => digits,
        _ => value,
    };
    (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" ,.:=_+-#%/".contains(&byte)
}

fn is_odd(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\n' && byte != b'\t'
}

fn is_ref(value: &[u8]) -> bool {
    is_refspec(value) && !value.iter().any(|byte| b":*+^".contains(byte))
}

fn is_refspec(value: &[u8]) -> bool {
    !value.is_empty()
        && !value.starts_with(b"-")
        && !value.windows(2).any(|pair| pair == b"..")
        && !value.iter().any(|byte| byte.is_ascii_control() || b" ~?[\\".contains(byte))
}
