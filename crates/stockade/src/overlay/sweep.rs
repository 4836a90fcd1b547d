//! What an apply that was killed left in the workspace.

use super::change::Change;
use super::copy::DRAFT;
use super::tree::Tree;
use rustix::fs::{AtFlags, FileType, unlinkat};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

/// Removes drafts of processes that are gone from the directories in which something is about to be changed. What
/// cannot be removed does no harm.
pub(super) fn drafts(host: &Tree, changes: &[Change]) {
    let directories: BTreeSet<&Path> = changes.iter().filter_map(|change| change.path.parent()).collect();
    for directory in directories {
        for name in host.names(directory).unwrap_or_default() {
            if writer(&name).is_some_and(|process| !Path::new("/proc").join(process).exists()) {
                remove(host, &directory.join(&name));
            }
        }
    }
}

/// The process that a draft with this name is of.
fn writer(name: &OsStr) -> Option<&str> {
    let (process, number) = name.to_str()?.strip_prefix(DRAFT)?.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(process) && is_number(number)).then_some(process)
}

fn remove(host: &Tree, path: &Path) {
    let Ok(place) = host.place(path) else { return };
    let ours = place.look().is_ok_and(|found| {
        FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
            && found.st_uid == rustix::process::geteuid().as_raw()
    });
    if ours {
        let _ = unlinkat(&place.directory, &place.name, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_our_own_shape() {
        assert_eq!(writer(OsStr::new(".stockade.12.0")), Some("12"));
        for name in [".stockade.12", ".stockade.12.", ".stockade..1", ".stockade.1.2.3", ".stockade.a.1", "x"]
        {
            assert_eq!(writer(OsStr::new(name)), None, "{name}");
        }
    }
}
