//! Where a configuration sends commits, and takes them from.

use super::parse::parse;
use super::refusal::GitRefusal;
use std::collections::BTreeMap;

/// The addresses of all remotes: the values of every `url` and `pushurl`, by their names as git compares them.
///
/// # Errors
///
/// What keeps the text from being read as git reads it.
pub fn git_config_addresses(text: &[u8]) -> Result<BTreeMap<Vec<u8>, Vec<Vec<u8>>>, GitRefusal> {
    let mut addresses = BTreeMap::<_, Vec<_>>::new();
    for entry in parse(text)? {
        let of_remote = entry.parts().is_some_and(|parts| {
            parts.section == b"remote"
                && matches!(parts.key, b"url" | b"pushurl")
                && parts.subsection.is_some()
        });
        if of_remote {
            addresses.entry(entry.name).or_default().extend(entry.value);
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_remotes_and_nothing_else() {
        let text = b"[remote \"a.b\"]\n url = one\n URL = two\n fetch = x\n pushurl = three\n[core]\n url = no\n[remote]\n url = no\n";
        let found = git_config_addresses(text).unwrap();
        let expected = [
            (b"remote.a.b.pushurl".to_vec(), vec![b"three".to_vec()]),
            (b"remote.a.b.url".to_vec(), vec![b"one".to_vec(), b"two".to_vec()]),
        ];
        assert_eq!(found, expected.into());
        assert!(git_config_addresses(b"[remote").is_err());
    }
}
