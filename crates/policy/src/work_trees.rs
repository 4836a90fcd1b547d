//! Where git directories have their work trees, and whether the way there is plain.

use crate::git::git_config_worktree;
use crate::{FileKind, Files};
use std::path::{Path, PathBuf};

/// The files of a git directory that may name its work tree.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];
/// Directories of a git directory that hold no settings and may hold thousands.
const PLAIN: [&str; 5] = ["objects", "refs", "logs", "hooks", "info"];
/// More directories below `modules` than this are not looked through.
const MOST_DIRECTORIES: usize = 2_000;

/// The work trees that the settings of a git directory name.
pub(crate) fn named(git_directory: &Path, files: &dyn Files) -> Vec<PathBuf> {
    let settings = SETTINGS.iter().filter_map(|name| files.read(&git_directory.join(name)).ok());
    settings.filter_map(|text| git_config_worktree(&text, git_directory)).collect()
}

/// The work trees of the submodules of every repository that a directory lies in, its own included; nothing where
/// they cannot all be looked at.
pub fn submodule_work_trees(directory: &Path, files: &dyn Files) -> Option<Vec<PathBuf>> {
    let is_directory = |at: &PathBuf| files.look(at).is_ok_and(|found| found.kind == FileKind::Directory);
    let modules = directory.ancestors().map(|above| above.join(".git/modules"));
    let mut pending: Vec<PathBuf> = modules.filter(is_directory).collect();
    let mut trees = Vec::new();
    let mut looked = 0;
    while let Some(directory) = pending.pop() {
        looked += 1;
        if looked > MOST_DIRECTORIES {
            return None;
        }
        trees.extend(named(&directory, files));
        let names = files.list(&directory).ok()?;
        let is_git = names.iter().any(|(name, _)| name == "HEAD");
        // The name of a submodule may have slashes, and submodules have submodules.
        let below = names.into_iter().filter(|(name, kind)| {
            let is_plain = is_git && PLAIN.iter().any(|plain| name == plain);
            *kind == FileKind::Directory && !is_plain
        });
        pending.extend(below.map(|(name, _)| directory.join(name)));
    }
    Some(trees)
}

/// Where a path really leads, if it leads elsewhere: through a link, as far as anything of it is there.
pub fn leads_elsewhere(path: &Path, files: &dyn Files) -> Option<PathBuf> {
    let there = path.ancestors().find_map(|above| Some((above, files.resolve(above).ok()?)));
    there.and_then(|(above, real)| (real != above).then_some(real))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn every_settings_file_counts_and_every_repository_above() {
        let files = Tree::new()
            .text("/ws/.git/modules/a/config", "[core]\n\tworktree = ../../../a\n")
            .text("/ws/.git/modules/b/HEAD", "")
            .text("/ws/.git/modules/b/config.worktree", "[core]\n\tworktree = ../../../b\n")
            .text("/ws/.git/modules/b/objects/config", "[core]\n\tworktree = ../../../../no\n")
            .text(
                "/ws/.git/modules/b/modules/deep/er/config",
                "[core]\n\tworktree = ../../../../../../b/er\n",
            )
            .text("/ws/sub/.git/modules/c/config", "[core]\n\tworktree = ../../../c\n");
        let mut trees = submodule_work_trees(Path::new("/ws/sub/deep"), &files).unwrap();
        trees.sort();
        assert_eq!(trees, ["/ws/a", "/ws/b", "/ws/b/er", "/ws/sub/c"].map(PathBuf::from));
        assert_eq!(submodule_work_trees(Path::new("/other"), &files), Some(Vec::new()));
    }

    #[test]
    fn links_on_the_way_are_seen_as_far_as_something_is_there() {
        let files = Tree::new().directory("/ws/real").directory("/away").link("/ws/link", "/away");
        let told = |path: &str| leads_elsewhere(Path::new(path), &files);
        assert_eq!(told("/ws/real"), None);
        assert_eq!(told("/ws/real/not/yet"), None);
        assert_eq!(told("/ws/link"), Some("/away".into()));
        assert_eq!(told("/ws/link/not/yet"), Some("/away".into()));
    }
}
