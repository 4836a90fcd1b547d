//! What a run is known by.

use crate::private;
use std::hash::{BuildHasher, RandomState};

/// A name for a run: when it began, and enough chance that no other has it. An engine's own number is free
/// again when its sandbox has ended; records live longer.
pub(super) fn new() -> String {
    let chance = RandomState::new().hash_one(std::process::id());
    format!("{:08x}-{:08x}", private::now() / 1000, chance & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn names_are_short_and_different() {
        let names: HashSet<String> = (0..1000).map(|_| super::new()).collect();
        assert_eq!(names.len(), 1000);
        assert!(names.iter().all(|name| name.len() == 17), "{names:?}");
    }
}
