//! Who is at work behind walls while a command would run without.
//!
//! What was looked at before it starts can be something else when it is read: a directory that becomes a link for a
//! moment leads a program to files that nobody inside may see. So nothing that could do that may be at work.

use super::ground::Ground;
use crate::load::git_directories;
use crate::{Request, Worker};
use std::path::{Path, PathBuf};

impl Ground<'_> {
    /// Why a command must not run without walls in these places now.
    pub(super) fn raced(&self, request: &Request, places: &[PathBuf]) -> Option<String> {
        if request.at_work.is_empty() {
            return None;
        }
        let read: Vec<PathBuf> = places.iter().flat_map(|place| self.read_from(place)).collect();
        let meets = |root: &Path| read.iter().any(|place| place.starts_with(root) || root.starts_with(place));
        let found = request.at_work.iter().find(|found| meets(&found.root))?;
        let root = found.root.display();
        Some(match found.who {
            Worker::Session => format!(
                "other commands of this session are still at work, and may change what it reads in {root} meanwhile"
            ),
            Worker::Later => format!(
                "it would go on in the background, where later commands of this session may change what it reads in {root}"
            ),
            Worker::Sandbox => format!(
                "another sandbox is at work in {root}, and may change what this reads there meanwhile"
            ),
        })
    }

    /// What is read by whoever starts in a place: all of its repository, where it lies in one.
    fn read_from(&self, place: &Path) -> Vec<PathBuf> {
        let repository = place.ancestors().find_map(|tree| {
            let directories = git_directories(tree, self.files);
            (!directories.is_empty()).then(|| [vec![tree.to_owned()], directories].concat())
        });
        repository.unwrap_or_else(|| vec![place.to_owned()])
    }
}
