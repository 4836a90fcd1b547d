//! From a path as written to the file it means.

use super::Ways;
use crate::rules::List;
use crate::{FileKind, Files, Identity};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many names of one directory are looked for one by one; then it is listed.
const FEW: u32 = 6;

/// A file, and how it was reached.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    /// Without links.
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
    /// The link that was written, if the last name is one: its directory without links, and its name.
    pub(crate) link: Option<PathBuf>,
}

/// Why a path means no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// There is no such name.
    NoName,
    /// The name is there and leads to nothing: a link.
    LeadsNowhere,
}

/// Looks files up and remembers directories: many rules name files of the same few.
pub(crate) struct Locator<'a> {
    files: &'a dyn Files,
    ways: Ways<'a>,
    directories: HashMap<PathBuf, Contents>,
}

/// What is known of a directory that names were looked for in.
enum Contents {
    Asked(u32),
    /// Its names in small letters, because some file systems take a name in any.
    Listed(HashSet<OsString>),
    /// It cannot be listed, or has names that such a file system could take for others.
    Unknown,
}

impl Contents {
    fn list(files: &dyn Files, directory: &Path) -> Self {
        let mut names = HashSet::new();
        match files.tell(directory, &mut |name, _| {
            names.insert(name.to_ascii_lowercase());
        }) {
            Ok(()) if names.iter().all(|name| name.is_ascii()) => Self::Listed(names),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Listed(HashSet::new()),
            _ => Self::Unknown,
        }
    }
}

impl<'a> Locator<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, ways: Ways::new(files), directories: HashMap::new() }
    }

    /// Whether it is known that there is no such name.
    fn is_absent(&mut self, directory: &Path, name: &OsStr) -> bool {
        let Some(contents) = self.directories.get_mut(directory) else {
            self.directories.insert(directory.to_owned(), Contents::Asked(1));
            return false;
        };
        match contents {
            Contents::Asked(times) if *times < FEW => *times += 1,
            Contents::Asked(_) => *contents = Contents::list(self.files, directory),
            Contents::Listed(_) | Contents::Unknown => {}
        }
        matches!(contents, Contents::Listed(names) if !names.contains(&name.to_ascii_lowercase()))
    }

    /// The file a path means, if it exists.
    pub(crate) fn locate(&mut self, path: &Path) -> Option<Located> {
        self.find(path).ok()
    }

    /// The same, and why not. There is no second guess: what cannot be resolved is not there.
    pub(crate) fn find(&mut self, path: &Path) -> Result<Located, Absence> {
        // Asking first is what makes rules for absent files cheap.
        let identity = self.files.look(path).map_err(|_| Absence::NoName)?;
        self.follow(path, identity).ok_or(Absence::LeadsNowhere)
    }

    /// The same for names that every directory tells. Some have others that they do not list, such as `.zfs`, which a
    /// person may write a rule about.
    pub(crate) fn find_listed(&mut self, path: &Path) -> Result<Located, Absence> {
        match (path.parent(), path.file_name()) {
            (Some(directory), Some(name)) if self.is_absent(directory, name) => Err(Absence::NoName),
            _ => self.find(path),
        }
    }

    fn follow(&mut self, path: &Path, identity: Identity) -> Option<Located> {
        let plain_name = matches!(path.components().next_back(), Some(Component::Normal(_)));
        let parent = path.parent().filter(|_| plain_name);
        let spelled = match (parent, path.file_name()) {
            (Some(parent), Some(name)) => Some(self.ways.real(parent)?.join(name)),
            _ => None,
        };
        match spelled {
            Some(path) if identity.kind != FileKind::Symlink => Some(Located { path, identity, link: None }),
            link => {
                let path = self.files.resolve(path).ok()?;
                let identity = self.files.look(&path).ok()?;
                Some(Located { path, identity, link })
            }
        }
    }

    /// For a denial whose path goes up again from something that is not there: what it means without the
    /// detour. Denying too much is the safe mistake.
    pub(crate) fn tidied(&mut self, path: &Path, list: List) -> Option<Located> {
        let denies = matches!(list, List::DenyRead | List::DenyWrite | List::DenyExecute);
        if !denies || !path.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        self.locate(&tidy(path))
    }
}

/// A path without `.` and `..`, by its letters alone.
pub(super) fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                tidy.pop();
            }
            Component::CurDir => {}
            other => tidy.push(other),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn names_are_found_before_and_after_their_directory_is_listed() {
        let files = Tree::new().text("/d/there", "").text("/d/OTHER", "").directory("/e/deep");
        let mut locator = Locator::new(&files);
        for round in 0..3 * FEW {
            let absent = format!("/d/absent{round}");
            assert_eq!(locator.find_listed(Path::new(&absent)).err(), Some(Absence::NoName));
            assert!(locator.find_listed(Path::new("/d/there")).is_ok(), "{round}");
            assert_eq!(locator.find_listed(Path::new("/none/there")).err(), Some(Absence::NoName));
            assert!(locator.find_listed(Path::new("/e/deep")).is_ok());
        }
        assert!(matches!(locator.directories[Path::new("/d")], Contents::Listed(_)));
        // A file system that takes names in any letters is asked.
        assert!(!locator.is_absent(Path::new("/d"), OsStr::new("other")));
        assert!(locator.is_absent(Path::new("/d"), OsStr::new("another")));
    }

    #[test]
    fn directories_with_strange_names_are_asked() {
        let files = Tree::new().text("/d/\u{212a}ube", "").text("/d/a", "");
        let mut locator = Locator::new(&files);
        assert!((0..3 * FEW).all(|_| !locator.is_absent(Path::new("/d"), OsStr::new("kube"))));
    }
}
