//! Reads what the test harness prints: the sums, and the tests it left out.

use std::collections::BTreeSet;

/// What came out of all the test programs together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests that held, or that left early and wrote so into the skip log.
    pub(crate) passed: usize,
    /// The names of those.
    pub(crate) passed_names: BTreeSet<String>,
    /// Tests that did not.
    pub(crate) failed: usize,
    /// The names of those.
    pub(crate) failed_names: BTreeSet<String>,
    /// Names of tests the harness did not run.
    pub(crate) ignored: Vec<String>,
}

impl Tally {
    /// Takes in one line of output.
    pub(crate) fn take(&mut self, line: &str) {
        if let Some(sums) = line.strip_prefix("test result: ") {
            self.passed += number_before(sums, " passed");
            self.failed += number_before(sums, " failed");
            return;
        }
        match verdict(line) {
            Some((name, "ok")) => {
                self.passed_names.insert(name.to_owned());
            }
            Some((name, "FAILED")) => {
                self.failed_names.insert(name.to_owned());
            }
            Some((name, word)) if word == "ignored" || word.starts_with("ignored, ") => {
                self.ignored.push(name.to_owned());
            }
            _ => {}
        }
    }
}

fn number_before(sums: &str, word: &str) -> usize {
    let Some(end) = sums.find(word) else { return 0 };
    sums[..end].rsplit(' ').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// `test NAME ... ok`, `... FAILED`, `... ignored, REASON`.
fn verdict(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?.rsplit_once(" ... ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_up() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test walls::holds ... ok",
            "test walls::leaks ... FAILED",
            "test walls::slow ... ignored, needs an hour",
            "test src/lib.rs - Thing (line 3) ... ignored",
            "test result: FAILED. 12 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: ok. 30 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        ] {
            tally.take(line);
        }
        assert_eq!((tally.passed, tally.failed), (42, 1));
        assert!(tally.passed_names.contains("walls::holds") && tally.passed_names.len() == 1);
        assert_eq!(tally.failed_names, ["walls::leaks".to_owned()].into());
        assert_eq!(tally.ignored, ["walls::slow", "src/lib.rs - Thing (line 3)"]);
    }
}
