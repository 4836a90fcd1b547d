//! Making up values that look like secrets.

use rustls::crypto::ring;

/// A made-up value the sandbox sees instead of a secret.
///
/// It holds 128 random bits, so that nothing else on the way out can be taken for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandIn(String);

/// A stand-in could not be made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StandInError {
    /// The system gave none.
    #[error("the system has no random bytes to make up a stand-in from")]
    Random,
}

/// Letters and digits as key identifiers have them: five bits each.
const KEY_LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

impl StandIn {
    /// For any secret: letters, digits and `_` only, so that no encoding on the way changes it.
    pub fn mint() -> Result<Self, StandInError> {
        Self::mint_after("")
    }

    /// The same with something readable before it, such as the first parts of a token.
    pub fn mint_after(readable: &str) -> Result<Self, StandInError> {
        let digits: String = random()?.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(format!("{readable}fake_value_{digits}")))
    }

    /// A text that a stand-in was written into, in whatever encoding: it is no more like anything else.
    pub fn of_text(text: String) -> Self {
        Self(text)
    }

    /// For the name of an AWS key, which programs check the look of: four letters that tell its kind, then
    /// sixteen others.
    pub fn mint_key_id(real: &[u8]) -> Result<Self, StandInError> {
        let kind = if real.starts_with(b"ASIA") { "ASIA" } else { "AKIA" };
        let letter = |byte: &u8| char::from(KEY_LETTERS[usize::from(byte % 32)]);
        Ok(Self(kind.chars().chain(random()?.iter().map(letter)).collect()))
    }

    /// What the sandbox sees.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn random() -> Result<[u8; 16], StandInError> {
    let mut bytes = [0; 16];
    ring::default_provider().secure_random.fill(&mut bytes).map_err(|_| StandInError::Random)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks() {
        let plain = StandIn::mint().unwrap();
        let digits = plain.as_str().strip_prefix("fake_value_").unwrap();
        assert!(digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{digits}");
        let token = StandIn::mint_after("aa.bb.").unwrap();
        assert!(token.as_str().starts_with("aa.bb.fake_value_"));
        for (real, kind) in
            [("AKIAIOSFODNN7EXAMPLE", "AKIA"), ("ASIAIOSFODNN7EXAMPLE", "ASIA"), ("x", "AKIA")]
        {
            let id = StandIn::mint_key_id(real.as_bytes()).unwrap();
            assert_eq!((id.as_str().len(), &id.as_str()[..4]), (20, kind));
            assert!(id.as_str().bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()));
        }
    }

    #[test]
    fn no_two_are_alike() {
        let many: std::collections::HashSet<String> =
            (0..200).map(|_| StandIn::mint().unwrap().as_str().to_owned()).collect();
        assert_eq!(many.len(), 200);
    }
}
