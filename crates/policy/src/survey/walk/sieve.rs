//! Names that are looked up by the hundred thousand and almost never found.

use crate::rules::RuleId;
use std::collections::HashMap;

/// Tells most names that are not in a set by their length and first letter, without hashing them.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::survey) struct Sieve {
    lengths: u64,
    firsts: [u64; 4],
}

impl Sieve {
    pub(in crate::survey) fn add(&mut self, name: &[u8]) {
        self.lengths |= 1 << (name.len() % 64);
        if let Some(first) = name.first() {
            self.firsts[usize::from(first / 64)] |= 1 << (first % 64);
        }
    }

    /// Whether the name may be in the set. An empty name is no name.
    pub(in crate::survey) fn lets_through(&self, name: &[u8]) -> bool {
        let long = self.lengths >> (name.len() % 64) & 1 == 1;
        long && name
            .first()
            .is_some_and(|first| self.firsts[usize::from(first / 64)] >> (first % 64) & 1 == 1)
    }
}

/// Rules about one name at any depth.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    rules: HashMap<&'a [u8], Vec<RuleId>>,
    sieve: Sieve,
}

impl<'a> Names<'a> {
    pub(super) fn add(&mut self, name: &'a [u8], rule: RuleId) {
        self.sieve.add(name);
        self.rules.entry(name).or_default().push(rule);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether rules may be about this name.
    pub(super) fn may_hold(&self, name: &[u8]) -> bool {
        self.sieve.lets_through(name)
    }

    pub(super) fn about(&self, name: &[u8]) -> &[RuleId] {
        if !self.may_hold(name) {
            return &[];
        }
        self.rules.get(name).map_or(&[], Vec::as_slice)
    }

    /// Any rule, for a message.
    pub(super) fn first(&self) -> Option<RuleId> {
        self.rules.values().flatten().min().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Sieve;

    #[test]
    fn what_was_added_gets_through() {
        let mut sieve = Sieve::default();
        let long = "x".repeat(200);
        let names: [&[u8]; 4] = [b".env", b"credentials.json", b"\xff\xfe", long.as_bytes()];
        names.iter().for_each(|name| sieve.add(name));
        assert!(names.iter().all(|name| sieve.lets_through(name)));
        assert!(!sieve.lets_through(b"") && !sieve.lets_through(b".envrc") && !sieve.lets_through(b"main"));
    }
}
