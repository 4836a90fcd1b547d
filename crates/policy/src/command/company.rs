//! Who is at work behind walls while a command would run without.
//!
//! What was looked at before it starts can be something else when it is read: a directory that becomes a link for a
//! moment leads a program to files that nobody inside may see. So nothing that could do that may be at work.

use super::ground::Ground;
use crate::load::git_directories;
use crate::{AtWork, Request, Worker};
use std::path::{Path, PathBuf};

impl Ground<'_> {
    /// Why a command must not run without walls in these places now.
    pub(super) fn raced(&self, request: &Request, places: &[PathBuf]) -> Option<String> {
        if request.at_work.is_empty() {
            return None;
        }
        let read: Vec<PathBuf> = places.iter().flat_map(|place| self.read_from(place)).collect();
        let meets = |found: &&AtWork| {
            let root = found.root.as_path();
            found.who == Worker::Moved
                || read.iter().any(|place| self.lies_in(place, root) || self.lies_in(root, place))
        };
        let found = request.at_work.iter().find(meets)?;
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
            Worker::Moved => format!(
                "another sandbox is at work in a directory that was {root} and has been moved or replaced since; \
                 it may change what this reads meanwhile"
            ),
        })
    }

    /// Whether a place lies in a directory, by its path or by what the directories above it are: one that is mounted
    /// twice has two paths.
    fn lies_in(&self, place: &Path, directory: &Path) -> bool {
        let is_it = |above: &Path, it| self.files.look(above).is_ok_and(|found| found == it);
        place.starts_with(directory)
            || self.files.look(directory).is_ok_and(|it| place.ancestors().any(|above| is_it(above, it)))
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
