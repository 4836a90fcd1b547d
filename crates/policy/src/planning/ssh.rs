//! ssh's system-wide configuration, for callers to whom root's files look like nobody's.
//!
//! ssh refuses to start when a file it includes belongs neither to root nor to the caller, and inside the
//! sandbox of an ordinary user every file of root belongs to nobody. A copy of the caller's own has the same
//! content and is trusted.

use super::mounts::Layout;
use crate::pattern::Glob;
use crate::{Caller, Files, Mount, MountKind};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const CONFIGURATION: &str = "/etc/ssh/ssh_config";
/// Where relative names of included files begin.
const DIRECTORY: &str = "/etc/ssh";
/// Nobody has more of them, or larger ones; what is beyond is left as it is.
const MOST_FILES: usize = 32;
const LARGEST: usize = 64 * 1024;

/// Lays copies over the configuration and every file it includes.
pub(super) fn lay(layout: &mut Layout, files: &dyn Files) {
    if files.caller() == Caller::Root {
        return;
    }
    let mut waiting = VecDeque::from([PathBuf::from(CONFIGURATION)]);
    let mut copied: Vec<PathBuf> = Vec::new();
    while let Some(named) = waiting.pop_front().filter(|_| copied.len() < MOST_FILES) {
        let Ok(path) = files.resolve(&named) else { continue };
        if copied.contains(&path) || !layout.shows(&path) {
            continue;
        }
        let Ok(data) = files.read(&path) else { continue };
        if data.len() > LARGEST {
            continue;
        }
        let text = String::from_utf8_lossy(&data).into_owned();
        layout.cover(Mount {
            path: path.clone(),
            kind: MountKind::Content { data, mode: 0o444 },
            rule: None,
        });
        copied.push(path);
        for pattern in included(&text) {
            waiting.extend(matching(&pattern, files));
        }
    }
}

/// What `Include` lines name. Names in homes belong to the caller already.
fn included(text: &str) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for line in text.lines() {
        let mut words = line.split(|letter: char| letter.is_ascii_whitespace() || letter == '=');
        let mut words = words.by_ref().filter(|word| !word.is_empty());
        if words.next().is_some_and(|word| word.eq_ignore_ascii_case("include")) {
            let plain = words.map(|word| word.trim_matches('"')).filter(|word| !word.starts_with('~'));
            names.extend(plain.map(|word| Path::new(DIRECTORY).join(word)));
        }
    }
    names
}

/// The files a name stands for; wildcards in its last part only.
fn matching(pattern: &Path, files: &dyn Files) -> Vec<PathBuf> {
    let (Some(directory), Some(name)) = (pattern.parent(), pattern.file_name().and_then(OsStr::to_str))
    else {
        return Vec::new();
    };
    if !name.contains(['*', '?', '[']) {
        return vec![pattern.to_owned()];
    }
    let Ok(directory) = files.resolve(directory) else { return Vec::new() };
    let glob = Glob::relative(name);
    let mut found: Vec<PathBuf> = files
        .list(&directory)
        .unwrap_or_default()
        .into_iter()
        .filter(|(name, _)| glob.matches([name.as_encoded_bytes()]))
        .map(|(name, _)| directory.join(name))
        .collect();
    found.sort();
    found
}
