//! From a path as written to the file it means.

use crate::rules::List;
use crate::{FileKind, Files, Identity};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// A file, and how it was reached.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    /// Without links.
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
    /// The link that was written, if the last name is one: its directory without links, and its name.
    pub(crate) link: Option<PathBuf>,
}

/// Looks files up and remembers directories: many rules name files of the same few.
pub(crate) struct Locator<'a> {
    files: &'a dyn Files,
    directories: HashMap<OsString, Option<PathBuf>>,
    last: Option<(OsString, Option<PathBuf>)>,
}

impl<'a> Locator<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, directories: HashMap::new(), last: None }
    }

    /// The file a path means, if it exists. There is no second guess: what cannot be resolved is not there.
    pub(crate) fn locate(&mut self, path: &Path) -> Option<Located> {
        // Asking first is what makes rules for absent files cheap.
        let identity = self.files.look(path).ok()?;
        let plain_name = matches!(path.components().next_back(), Some(Component::Normal(_)));
        let parent = path.parent().filter(|_| plain_name);
        let spelled = match (parent, path.file_name()) {
            (Some(parent), Some(name)) => Some(self.directory(parent)?.join(name)),
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

    fn directory(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some((last, found)) = &self.last
            && last == path.as_os_str()
        {
            return found.clone();
        }
        let found = match self.directories.get(path.as_os_str()) {
            Some(found) => found.clone(),
            None => {
                let found = self.files.resolve(path).ok();
                self.directories.insert(path.as_os_str().to_owned(), found.clone());
                found
            }
        };
        self.last = Some((path.as_os_str().to_owned(), found.clone()));
        found
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
