//! What a hosted session is called.

use super::HostError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;

/// The longest name.
const LONGEST: usize = 32;

/// The name of a hosted session. It becomes part of file names, so nothing in it is special anywhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionName(String);

impl SessionName {
    /// One that most likely nobody has.
    pub fn fresh() -> Self {
        // The hasher's keys are random, which is all a name needs.
        let number = RandomState::new().hash_one(std::process::id());
        Self(format!("s{:08x}", number >> 32))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionName {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
        if begins && text.len() <= LONGEST && text.bytes().all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(HostError::Name { name: text.to_owned() })
        }
    }
}

impl TryFrom<String> for SessionName {
    type Error = HostError;

    fn try_from(text: String) -> Result<Self, HostError> {
        text.parse()
    }
}

impl From<SessionName> for String {
    fn from(name: SessionName) -> Self {
        name.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        let long = "a".repeat(LONGEST + 1);
        for (name, expected) in [
            ("build", true),
            ("fix-7_b", true),
            ("", false),
            (".", false),
            ("..", false),
            ("-rf", false),
            ("7a", false),
            ("a/b", false),
            ("a.lock", false),
            ("a b", false),
            ("a\0", false),
            ("\u{e4}", false),
            (&long, false),
            (&long[1..], true),
        ] {
            assert_eq!(name.parse::<SessionName>().is_ok(), expected, "{name:?}");
            let json = serde_json::to_string(name).unwrap();
            assert_eq!(serde_json::from_str::<SessionName>(&json).is_ok(), expected, "{name:?}");
        }
    }

    #[test]
    fn fresh_names_differ_and_are_names() {
        let (one, other) = (SessionName::fresh(), SessionName::fresh());
        assert_ne!(one, other);
        assert_eq!(one.as_str().parse::<SessionName>().unwrap(), one);
    }
}
