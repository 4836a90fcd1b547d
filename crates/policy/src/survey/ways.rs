//! The way to a directory, without links.

use crate::{FileKind, Files};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Resolves directories and remembers every one on the way: rules name files of the same few, and each name
/// of a path costs a look.
pub(crate) struct Ways<'a> {
    files: &'a dyn Files,
    /// By their letters: taking a path apart costs more than another look.
    known: HashMap<OsString, Option<PathBuf>>,
    /// The one asked for last, which is mostly the next one, too.
    last: Option<(PathBuf, Option<PathBuf>)>,
}

impl<'a> Ways<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, known: HashMap::new(), last: None }
    }

    /// Where an absolute path leads, if all of it is there.
    pub(crate) fn real(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some((last, found)) = &self.last
            && last.as_os_str() == path.as_os_str()
        {
            return found.clone();
        }
        let found = self.known(path);
        self.last = Some((path.to_owned(), found.clone()));
        found
    }

    fn known(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(found) = self.known.get(path.as_os_str()) {
            return found.clone();
        }
        let found = self.find(path);
        self.known.insert(path.as_os_str().to_owned(), found.clone());
        found
    }

    fn find(&mut self, path: &Path) -> Option<PathBuf> {
        let mut parts = path.components();
        let (name, parent) = match (parts.next_back(), parts.as_path()) {
            (Some(Component::Normal(name)), parent) if parent.has_root() => (name, parent),
            // The root, and what only the system can follow: `..` leads up from where a link leads to.
            _ => return self.files.resolve(path).ok(),
        };
        let here = self.known(parent)?.join(name);
        match self.files.look(&here).ok()?.kind {
            FileKind::Symlink => self.files.resolve(&here).ok(),
            FileKind::Directory | FileKind::File => Some(here),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn every_way_ends_where_the_system_says() {
        let tree = Tree::new()
            .directory("/a/b")
            .file("/a/f")
            .link("/l", "/a")
            .link("/a/up", "../a/b")
            .link("/a/gone", "/nowhere");
        let mut ways = Ways::new(&tree);
        for path in [
            "/",
            "/a",
            "/a/b",
            "/a/b/",
            "/a/./b",
            "/l",
            "/l/b",
            "/l/up",
            "/l/up/..",
            "/a/f",
            "/a/f/x",
            "/a/gone",
            "/a/gone/x",
            "/none",
            "/none/b",
            "/a/none/../b",
            "/a/b/../up",
            "a/b",
        ] {
            let path = Path::new(path);
            let expected = tree.resolve(path).ok();
            assert_eq!(ways.real(path), expected, "{path:?}");
            assert_eq!(ways.real(path), expected, "{path:?} again");
        }
    }
}
