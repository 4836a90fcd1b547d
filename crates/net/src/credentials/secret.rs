//! A value that must not be seen.

use std::fmt;
use zeroize::Zeroizing;

/// A secret's real value. It cannot be printed or written anywhere, and its memory is wiped when it goes.
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes a value in.
    pub fn new(value: Vec<u8>) -> Self {
        Self(Zeroizing::new(value))
    }

    /// Whether this is the value, for those that know it.
    pub fn is(&self, value: &[u8]) -> bool {
        self.reveal() == value
    }

    /// The value itself, for those that send it.
    pub(crate) fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}
