//! What is told about refused names: each once in a while, not once per query.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A program that retries asks for the same name again and again, in two families, over UDP and TCP.
const AGAIN: Duration = Duration::from_secs(10);
/// A resolver with a search list tries the next suffix at once.
const SUFFIX: Duration = Duration::from_secs(2);
/// Names remembered.
const MOST: usize = 1024;

/// Remembers which names were lately found wanting. How many of them get a record of their own is decided
/// where all refusals are counted.
#[derive(Default)]
pub(super) struct Hush {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    lately: HashMap<String, Instant>,
}

impl Hush {
    /// Whether to tell that this name was refused.
    pub(super) fn may_tell(&self, name: &str, now: Instant) -> bool {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.is_recent(name, now, AGAIN) {
            return false;
        }
        let searched = inner.is_searched(name, now);
        inner.remember(name, now);
        !searched
    }

    /// A name gave nothing, for another reason: a resolver with a search list now tries names below others.
    pub(super) fn came_to_nothing(&self, name: &str, now: Instant) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).remember(name, now);
    }
}

impl Inner {
    fn is_recent(&self, name: &str, now: Instant, within: Duration) -> bool {
        self.lately.get(name).is_some_and(|then| now.saturating_duration_since(*then) < within)
    }

    /// Whether this is a name that just failed, with a suffix of the search list behind it. Names without a
    /// dot are tried with the suffixes first, so that only names with one are looked for.
    fn is_searched(&self, name: &str, now: Instant) -> bool {
        let dots = name.match_indices('.').skip(1);
        dots.map(|(at, _)| &name[..at]).any(|front| self.is_recent(front, now, SUFFIX))
    }

    fn remember(&mut self, name: &str, now: Instant) {
        if self.lately.len() >= MOST {
            self.lately.retain(|_, then| now.saturating_duration_since(*then) < SUFFIX);
        }
        // Under a flood of names the oldest are as good as any; forgetting them tells a name twice at worst.
        if self.lately.len() >= MOST {
            self.lately.clear();
        }
        self.lately.insert(name.to_owned(), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_name_is_told_once_in_a_while() {
        let (hush, start) = (Hush::default(), Instant::now());
        assert!(hush.may_tell("evil.test", start));
        assert!(!hush.may_tell("evil.test", start + 9 * SECOND));
        assert!(hush.may_tell("other.test", start + 9 * SECOND));
        assert!(hush.may_tell("evil.test", start + 11 * SECOND));
    }

    #[test]
    fn suffixes_of_a_search_list_are_not_told() {
        let (hush, start) = (Hush::default(), Instant::now());
        assert!(hush.may_tell("evil.test", start));
        assert!(!hush.may_tell("evil.test.corp.lan", start));
        assert!(!hush.may_tell("evil.test.lan", start + SECOND));
        assert!(hush.may_tell("evil.testing.lan", start));
        assert!(hush.may_tell("evil.test.late.lan", start + 3 * SECOND));
        hush.came_to_nothing("typo.allow.test", start);
        assert!(!hush.may_tell("typo.allow.test.corp.lan", start));
    }

    #[test]
    fn a_name_without_a_dot_hides_nothing_below_it() {
        let (hush, start) = (Hush::default(), Instant::now());
        assert!(hush.may_tell("db", start));
        assert!(hush.may_tell("db.evil.test", start));
    }

    #[test]
    fn a_flood_of_names_is_told_of_and_remembered_in_little_memory() {
        let (hush, start) = (Hush::default(), Instant::now());
        let told = (0..50_000).filter(|n| hush.may_tell(&format!("n{n}.test"), start)).count();
        assert_eq!(told, 50_000);
        assert!(hush.inner.lock().unwrap().lately.len() <= MOST);
    }
}
