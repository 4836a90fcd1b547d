//! Where a path leads, as far as it is there.

use crate::survey::Ways;
use crate::{FileKind, Files};
use std::path::{Component, Path, PathBuf};

/// Links followed for one path; as many as the kernel follows.
const MOST_LINKS: usize = 40;

/// Settles paths and remembers directories: most absent rules name files of the same few.
pub(super) struct Settler<'a> {
    files: &'a dyn Files,
    ways: Ways<'a>,
}

impl<'a> Settler<'a> {
    pub(super) fn new(files: &'a dyn Files) -> Self {
        Self { files, ways: Ways::new(files) }
    }

    /// The path without the links of its existing part. A link itself is settled where it lies and where it
    /// leads: something may be made at both ends.
    pub(super) fn settle(&mut self, path: &Path) -> Vec<PathBuf> {
        let mut settled = Vec::new();
        let mut next = Some(path.to_owned());
        while let Some(path) = next.take().filter(|_| settled.len() < MOST_LINKS) {
            let place = self.place(&path);
            if self.files.look(&place).is_ok_and(|found| found.kind == FileKind::Symlink)
                && let (Ok(target), Some(parent)) = (self.files.follow(&place), place.parent())
            {
                next = Some(parent.join(target));
            }
            settled.push(place);
        }
        settled
    }

    /// The directory without links, and the name in it.
    pub(super) fn place(&mut self, path: &Path) -> PathBuf {
        let mut parts = path.components();
        let mut names = Vec::from_iter(parts.next_back());
        let mut place = loop {
            if let Some(real) = self.ways.real(parts.as_path()) {
                break real;
            }
            match parts.next_back() {
                Some(Component::RootDir) | None => break PathBuf::from("/"),
                Some(part) => names.push(part),
            }
        };
        for part in names.into_iter().rev() {
            match part {
                Component::ParentDir => {
                    place.pop();
                }
                Component::Normal(name) => place.push(name),
                _ => {}
            }
        }
        place
    }
}
