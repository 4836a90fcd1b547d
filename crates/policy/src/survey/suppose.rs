//! Files, with one path supposed to exist.
//!
//! "What if this file were made?" is then the same question as "what about this file?".

use super::holds;
use crate::{FileKind, Files, Identity};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The real files and one more.
pub(crate) struct Supposing<'a> {
    files: &'a dyn Files,
    /// The deepest directory that exists, without links.
    base: PathBuf,
    /// The names below it that do not.
    names: Vec<OsString>,
}

impl<'a> Supposing<'a> {
    /// Supposes an absolute path. Nothing is supposed where it exists.
    pub(crate) fn new(files: &'a dyn Files, path: &Path) -> io::Result<Self> {
        let mut names: Vec<OsString> = Vec::new();
        let mut above = path;
        loop {
            match files.resolve(above) {
                Ok(base) => {
                    names.reverse();
                    return Ok(Self { files, base, names });
                }
                // Writing to it would make a file wherever the link leads, which no rule about the link can judge.
                Err(_) if files.look(above).is_ok_and(|found| found.kind == FileKind::Symlink) => {
                    return Err(io::Error::new(
                        io::ErrorKind::NotFound,
                        "it is a link to something that does not exist",
                    ));
                }
                Err(_) => {}
            }
            match (above.parent(), above.file_name()) {
                (Some(parent), Some(name)) => {
                    names.push(name.to_owned());
                    above = parent;
                }
                _ => return Err(io::Error::from(io::ErrorKind::NotFound)),
            }
        }
    }

    /// The supposed path, without links.
    pub(crate) fn path(&self) -> PathBuf {
        self.base.join(self.names.iter().collect::<PathBuf>()).components().collect()
    }

    /// Whether it is more than a supposition.
    pub(crate) fn exists(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether a path on the way, without links, is more than a supposition.
    pub(crate) fn is_real(&self, path: &Path) -> bool {
        self.exists() || holds(path, &self.base)
    }

    /// How many supposed names a path ends in, if it leads along the supposition.
    fn along(&self, path: &Path) -> Option<(usize, PathBuf)> {
        let mut above = path;
        for depth in 1..=self.names.len() {
            let parent = above.parent()?;
            if let Ok(real) = self.files.resolve(parent)
                && real == self.base
                && path.iter().rev().take(depth).eq(self
                    .names
                    .iter()
                    .take(depth)
                    .rev()
                    .map(OsString::as_os_str))
            {
                return Some((depth, real.join(self.names.iter().take(depth).collect::<PathBuf>())));
            }
            above = parent;
        }
        None
    }

    fn kind(&self, depth: usize) -> FileKind {
        if depth == self.names.len() { FileKind::File } else { FileKind::Directory }
    }
}

impl Files for Supposing<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.read(path)
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        self.files.look(path).or_else(|error| match self.along(path) {
            Some((depth, _)) => Ok(Identity { dev: 0, ino: 0, kind: self.kind(depth) }),
            None => Err(error),
        })
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.resolve(path).or_else(|error| self.along(path).map(|(_, real)| real).ok_or(error))
    }

    fn follow(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.follow(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        let (mut entries, depth) = match self.files.list(path) {
            Ok(entries) => {
                let here =
                    !self.names.is_empty() && self.files.resolve(path).is_ok_and(|real| real == self.base);
                (entries, here.then_some(0))
            }
            Err(error) => match self.along(path) {
                Some((depth, _)) if depth < self.names.len() => (Vec::new(), Some(depth)),
                _ => return Err(error),
            },
        };
        if let Some(depth) = depth {
            entries.push((self.names[depth].clone(), self.kind(depth + 1)));
        }
        Ok(entries)
    }
}
