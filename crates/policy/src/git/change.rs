//! A configuration that changes.

use super::config::{check, check_size, read};
use super::keys::KEYS;
use super::parse::{Entry, Parts, parse};
use super::places::GitPlaces;
use super::refusal::GitRefusal;
use std::collections::{BTreeMap, BTreeSet};

/// Whether a text may take the place of another. What is not inert may stay exactly as a person has put it
/// there, or go; what protects the repository has to stay.
///
/// # Errors
///
/// The first key that is new and not inert, or that was touched and may not be.
pub fn check_git_config_change(old: &[u8], new: &[u8], places: &GitPlaces) -> Result<(), GitRefusal> {
    let old_entries = check_size(old).and_then(|()| parse(old)).map_err(|refusal| GitRefusal {
        reason: format!("the present configuration cannot be read: {}", refusal.reason),
        ..refusal
    })?;
    let new_entries = read(new, old)?;
    let kept = kept_names(&old_entries, &new_entries, places)?;
    for entry in new_entries.iter().filter(|entry| !kept.contains(entry.name.as_slice())) {
        check(entry, places)?;
    }
    check_promisors(&old_entries, &new_entries)?;
    check_order(&old_entries, &new_entries, &kept)
}

/// Missing objects of a partial clone are fetched by whatever command comes upon them: as long as a person's
/// clone is one, its address stays.
fn check_promisors(old: &[Entry], new: &[Entry]) -> Result<(), GitRefusal> {
    let (old_values, new_values) = (by_name(old), by_name(new));
    for remote in new.iter().filter_map(promisor) {
        let name = [b"remote.".as_slice(), remote, b".url"].concat();
        if old_values.get(name.as_slice()) != new_values.get(name.as_slice()) {
            let line = new.iter().rfind(|entry| entry.name == name).map_or(0, |entry| entry.line);
            let reason = "missing objects of this partial clone are fetched from there by any command";
            return Err(GitRefusal::new(&name, line, reason));
        }
    }
    Ok(())
}

/// The remote from which a key has git fetch missing objects.
fn promisor(entry: &Entry) -> Option<&[u8]> {
    let Parts { section, subsection, key } = entry.parts()?;
    match (section, subsection, key) {
        (b"extensions", None, b"partialclone") => entry.value.as_deref(),
        (b"remote", Some(remote), b"promisor" | b"partialclonefilter") => Some(remote),
        _ => None,
    }
}

/// The names that need no check: not all their old values are inert, but none was added, removed or changed.
/// Half-way changes do not count, because the last value wins and some lists begin anew at an empty one.
fn kept_names<'a>(
    old: &'a [Entry],
    new: &[Entry],
    places: &GitPlaces,
) -> Result<BTreeSet<&'a [u8]>, GitRefusal> {
    let (old_values, new_values) = (by_name(old), by_name(new));
    let mut kept = BTreeSet::new();
    for entry in old {
        let name = entry.name.as_slice();
        let protective = KEYS.is_protective(entry);
        if !protective && check(entry, places).is_ok() {
            continue;
        }
        if old_values.get(name) == new_values.get(name) {
            kept.insert(name);
        } else if protective {
            let line = new.iter().find(|entry| entry.name == name).map_or(0, |entry| entry.line);
            let reason = "it protects the repository and has to stay as it is";
            return Err(GitRefusal::new(name, line, reason));
        }
    }
    Ok(kept)
}

/// An included file before or after a key decides which of them wins.
fn check_order(old: &[Entry], new: &[Entry], kept: &BTreeSet<&[u8]>) -> Result<(), GitRefusal> {
    let of = |entry: &&Entry| kept.contains(entry.name.as_slice());
    let moved = old.iter().filter(of).zip(new.iter().filter(of)).find(|(old, new)| old.name != new.name);
    match moved {
        Some((_, entry)) => {
            Err(GitRefusal::new(&entry.name, entry.line, "it was moved before or behind another key"))
        }
        None => Ok(()),
    }
}

fn by_name(entries: &[Entry]) -> BTreeMap<&[u8], Vec<Option<&[u8]>>> {
    let mut names = BTreeMap::<_, Vec<_>>::new();
    for entry in entries {
        names.entry(entry.name.as_slice()).or_default().push(entry.value.as_deref());
    }
    names
}
