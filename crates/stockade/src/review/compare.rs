//! Two moments of a workspace, and what is different.

use super::catalogue::Catalogue;
use super::ground::Ground;
use super::look::{Behind, Seen};
use super::walk::{Gaps, Snapshot};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use stockade_policy::{
    GitPlaces, ReviewChange, ReviewItem, ReviewKind, ReviewTell, check_git_config_change,
    git_config_addresses,
};

/// More of one kind are counted, not listed.
const MOST_PER_KIND: usize = 500;
/// Parts of a file that are named one by one.
const MOST_NAMED: usize = 4;
/// Longer words of the command are cut.
const LONGEST_QUOTE: usize = 120;

const BARE: &str = "git run in it or below takes settings and hooks from there";
const GAP: &str = "what was not compared may have changed";

/// Everything that is new, changed or gone, the most telling kinds first.
pub(super) fn compare(
    ground: &Ground,
    catalogue: &Catalogue,
    before: &Snapshot,
    after: &Snapshot,
) -> Vec<ReviewItem> {
    let mut items = Vec::new();
    for (path, (entry, seen)) in &after.files {
        let old = before.files.get(path).map(|(_, seen)| seen);
        let entry = &catalogue.entries[*entry];
        let said = match old {
            Some(_) if entry.tell == ReviewTell::New => None,
            None if entry.tell == ReviewTell::Changed => None,
            Some(old) => changed(ground, path, old, seen).map(|detail| (ReviewChange::Changed, detail)),
            None => appeared(ground, path, seen).map(|detail| (ReviewChange::New, detail)),
        };
        let Some((change, detail)) = said else { continue };
        items.push(ReviewItem {
            kind: entry.kind,
            path: shown(path),
            change,
            detail,
            why: entry.why.clone(),
        });
    }
    for path in after.bare.iter().filter(|path| !before.bare.contains(path)) {
        items.push(bare_item(path));
    }
    // Where the second walk was given up nobody knows what is gone.
    if after.gaps.given_up.is_none() {
        for (path, (entry, seen)) in &before.files {
            let entry = &catalogue.entries[*entry];
            if entry.tell == ReviewTell::All
                && !after.files.contains_key(path)
                && counts(seen)
                && !after.gaps.hide(path)
            {
                let (change, detail) = (ReviewChange::Removed, String::new());
                items.push(ReviewItem {
                    kind: entry.kind,
                    path: shown(path),
                    change,
                    detail,
                    why: entry.why.clone(),
                });
            }
        }
    }
    items.sort_by(|one, other| (one.kind, &one.path).cmp(&(other.kind, &other.path)));
    let mut gaps = gaps(catalogue, before, after);
    shorten(&mut items, &mut gaps);
    let path = ".".to_owned();
    if !gaps.is_empty() {
        let (kind, change) = (ReviewKind::Incomplete, ReviewChange::Unknown);
        items.insert(0, ReviewItem { kind, path, change, detail: gaps.join("; "), why: GAP.to_owned() });
    }
    items
}

/// A directory that became a repository for git.
pub(super) fn bare_item(path: &Path) -> ReviewItem {
    ReviewItem {
        kind: ReviewKind::BareRepository,
        path: shown(path),
        change: ReviewChange::New,
        detail: "holds HEAD, objects and refs".to_owned(),
        why: BARE.to_owned(),
    }
}

/// Keeps the first of each kind.
fn shorten(items: &mut Vec<ReviewItem>, gaps: &mut Vec<String>) {
    let mut counts: HashMap<ReviewKind, usize> = HashMap::new();
    items.retain(|item| {
        let count = counts.entry(item.kind).or_default();
        *count += 1;
        *count <= MOST_PER_KIND
    });
    let more: usize = counts.values().map(|count| count.saturating_sub(MOST_PER_KIND)).sum();
    if more > 0 {
        gaps.push(format!("{more} more are not listed"));
    }
}

fn gaps(catalogue: &Catalogue, before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let mut told = Vec::new();
    for (snapshot, when) in [(before, "before"), (after, "after")] {
        let Gaps { given_up, closed, unread, dropped } = &snapshot.gaps;
        if let Some(names) = given_up {
            told.push(format!("the look {when} the run was given up after {names} names"));
        }
        let mut entries: Vec<_> = dropped.iter().collect();
        entries.sort();
        for (entry, count) in entries {
            let path = catalogue.entries[*entry].paths.first().map_or("", String::as_str);
            told.push(format!("{count} files like {path} were too many to look at {when} the run"));
        }
        // What was closed before is no work of this command.
        if when == "after" && !closed.is_empty() {
            let first = closed.iter().min().map(|path| quote(&shown(path))).unwrap_or_default();
            told.push(match closed.len() {
                1 => format!("{first} cannot be listed"),
                count => format!("{count} directories cannot be listed, {first} among them"),
            });
        }
        if when == "after"
            && let Some(first) = unread.iter().min()
        {
            let first = quote(&shown(first));
            told.push(match unread.len() {
                1 => format!("{first} cannot be read, or where it leads to"),
                count => format!("{count} settings of git cannot be read, {first} among them"),
            });
        }
    }
    told
}

impl Gaps {
    fn hide(&self, path: &Path) -> bool {
        self.closed.iter().any(|closed| path.starts_with(closed))
    }
}

/// Whether something was of any weight at all.
fn counts(seen: &Seen) -> bool {
    match seen {
        Seen::Parts(parts) => !parts.is_empty(),
        Seen::Settings(_) => false,
        _ => true,
    }
}

/// What to say about something new; nothing where it can do no harm.
fn appeared(ground: &Ground, path: &Path, seen: &Seen) -> Option<String> {
    Some(match seen {
        Seen::Parts(parts) if parts.is_empty() => return None,
        Seen::Parts(parts) => parts_changed(&BTreeMap::new(), parts),
        Seen::Settings(text) => settings_changed(ground, path, &[], text)?,
        Seen::Content { powers: 0, .. } | Seen::Stamp { powers: 0, .. } => String::new(),
        Seen::Content { .. } | Seen::Stamp { .. } => "executable".to_owned(),
        Seen::Link { .. } | Seen::Directory | Seen::MachineCode | Seen::Odd => what(seen),
    })
}

/// What to say about something that was there; nothing where it is the same.
fn changed(ground: &Ground, path: &Path, old: &Seen, new: &Seen) -> Option<String> {
    if old == new {
        return None;
    }
    Some(match (old, new) {
        (Seen::Parts(old), Seen::Parts(new)) => parts_changed(old, new),
        (Seen::Settings(old), Seen::Settings(new)) => {
            settings_changed(ground, path, old, new).or_else(|| addresses_changed(old, new))?
        }
        (Seen::Content { digest: old, powers: less }, Seen::Content { digest: new, powers: more }) => {
            match (old == new, more & !less != 0) {
                (true, true) => "made executable".to_owned(),
                (true, false) => "no longer executable".to_owned(),
                (false, true) => "other content, made executable".to_owned(),
                (false, false) => "other content".to_owned(),
            }
        }
        (Seen::Link { target: old, .. }, Seen::Link { target: new, behind }) => {
            let way = quote(&shown(new));
            match behind {
                Behind::Outside => format!("leads to {way} now, outside the workspace"),
                _ if old == new => format!("what it leads to, {way}, is another"),
                _ => format!("leads to {way} now"),
            }
        }
        (Seen::Content { .. } | Seen::Stamp { .. }, Seen::Content { .. } | Seen::Stamp { .. }) => {
            "other content".to_owned()
        }
        (Seen::Parts(_) | Seen::Settings(_), Seen::Content { .. } | Seen::Stamp { .. }) => {
            "can no longer be read".to_owned()
        }
        (_, new) => format!("is {} now", what(new)),
    })
}

/// A thing in a few words.
fn what(seen: &Seen) -> String {
    match seen {
        Seen::Link { target, behind } => {
            let more = match behind {
                Behind::File(_) | Behind::Directory(_) => "",
                Behind::Outside => ", outside the workspace, which was not looked into",
                Behind::Nothing => ", which was not looked into",
            };
            format!("a link to {}{more}", quote(&shown(target)))
        }
        Seen::Directory => "a directory".to_owned(),
        Seen::MachineCode => "machine code".to_owned(),
        Seen::Odd => "neither a file nor a directory".to_owned(),
        _ => "a file".to_owned(),
    }
}

fn settings_changed(ground: &Ground, path: &Path, old: &[u8], new: &[u8]) -> Option<String> {
    let places = GitPlaces {
        writable: vec![ground.path().to_owned()],
        private: Vec::new(),
        git_directory: ground.path().join(path.parent().unwrap_or(Path::new(""))),
    };
    let refusal = check_git_config_change(old, new, &places).err()?;
    Some(match refusal.key.is_empty() {
        true => refusal.reason,
        false => format!("{}: {}", quote(&refusal.key), refusal.reason),
    })
}

/// Other addresses of remotes. Those of a new repository are no change.
fn addresses_changed(old: &[u8], new: &[u8]) -> Option<String> {
    let [old, new] = [old, new].map(|text| {
        let addresses = git_config_addresses(text).unwrap_or_default();
        let words = |values: Vec<Vec<u8>>| String::from_utf8_lossy(&values.join(&b' ')).into_owned();
        let told = addresses.into_iter();
        told.map(|(name, values)| (String::from_utf8_lossy(&name).into_owned(), words(values))).collect()
    });
    (old != new).then(|| parts_changed(&old, &new))
}

fn parts_changed(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> String {
    let mut told: Vec<String> = Vec::new();
    let with = |name: &str, value: &str| match value.is_empty() {
        true => quote(name),
        false => format!("{name}: {}", quote(value)),
    };
    for (name, value) in new {
        match old.get(name) {
            None => told.push(format!("new {}", with(name, value))),
            Some(known) if known != value => told.push(format!("changed {}", with(name, value))),
            Some(_) => {}
        }
    }
    told.extend(
        old.keys().filter(|name| !new.contains_key(*name)).map(|name| format!("removed {}", quote(name))),
    );
    let more = told.len().saturating_sub(MOST_NAMED);
    told.truncate(MOST_NAMED);
    if more > 0 {
        told.push(format!("{more} more"));
    }
    told.join(", ")
}

/// The command's own words, in marks and not too long.
fn quote(text: &str) -> String {
    let mut letters = text.chars();
    let cut: String = letters.by_ref().take(LONGEST_QUOTE).collect();
    let more = if letters.next().is_some() { "..." } else { "" };
    format!("\"{cut}\"{more}")
}

fn shown(path: &Path) -> String {
    match path.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => path.to_string_lossy().into_owned(),
    }
}
