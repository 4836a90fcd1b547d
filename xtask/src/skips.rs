//! Tests that could not run here: which, why, and whether that is acceptable.

use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The variable that tells the suite where to write a line for every test it leaves out.
pub(crate) const LOG_VARIABLE: &str = "STOCKADE_SKIP_LOG";

/// Names and reasons of the tests that were left out, each name once.
pub(crate) type Skips = BTreeMap<String, String>;

/// Reads the log. A missing file means that no test was left out.
pub(crate) fn read_log(path: &Path) -> Result<Skips> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().filter_map(entry).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Skips::new()),
        Err(error) => Err(error).with_context(|| format!("could not read {}", path.display())),
    }
}

/// `SKIPPED NAME: reason`; names hold `::` but never a colon and a space.
fn entry(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("SKIPPED ").unwrap_or(line);
    let (name, reason) = line.split_once(": ").unwrap_or((line, ""));
    (!name.is_empty()).then(|| (name.trim().to_owned(), reason.trim().to_owned()))
}

/// The committed names, without remarks.
pub(crate) fn read_allowed(path: &Path) -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    Ok(text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect())
}

/// The tests that were left out although they should have run.
pub(crate) fn unexpected<'a>(skips: &'a Skips, allowed: &BTreeSet<String>) -> Vec<&'a str> {
    skips.keys().map(String::as_str).filter(|name| !allowed.contains(*name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_reasons() {
        let read = |line| entry(line).map(|(name, reason)| format!("{name}|{reason}"));
        assert_eq!(
            read("walls::landlock: kernel: too old").as_deref(),
            Some("walls::landlock|kernel: too old")
        );
        assert_eq!(read("SKIPPED walls::a: kernel: too old").as_deref(), Some("walls::a|kernel: too old"));
        assert_eq!(read("SKIPPED walls::a (root): no").as_deref(), Some("walls::a (root)|no"));
        assert_eq!(read("walls::a").as_deref(), Some("walls::a|"));
        assert_eq!(read("   "), None);
    }

    #[test]
    fn listed_skips_are_fine() {
        let skips = Skips::from([("a".into(), String::new()), ("b".into(), String::new())]);
        assert_eq!(unexpected(&skips, &BTreeSet::from(["a".to_owned()])), ["b"]);
    }

    #[test]
    fn no_log_is_no_skip() {
        assert_eq!(read_log(Path::new("/nowhere/at/all")).ok(), Some(Skips::new()));
    }
}
