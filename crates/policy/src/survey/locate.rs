//! From a path as written to the file it means.

use super::Ways;
use crate::rules::List;
use crate::{FileKind, Files, Identity};
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
}

impl<'a> Locator<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, ways: Ways::new(files) }
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
