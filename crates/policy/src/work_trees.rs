//! Where git directories have their work trees and the files git will come back to, and whether the way there is plain.

use crate::git::{git_config_worktree, git_conflicts};
use crate::load::git_directories;
use crate::{FileKind, Files};
use std::path::{Path, PathBuf};

/// The files of a git directory that may name its work tree.
pub(crate) const SETTINGS: [&str; 2] = ["config", "config.worktree"];
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
    let git = directory.ancestors().map(|above| above.join(".git"));
    let found = git.filter(|git| is_directory(git, files)).map(|git| of_submodules(&git, files));
    Some(found.collect::<Option<Vec<_>>>()?.concat())
}

/// The work trees of the submodules of one git directory, and of those of linked work trees.
pub(crate) fn of_submodules(git_directory: &Path, files: &dyn Files) -> Option<Vec<PathBuf>> {
    let linked = files.list(&git_directory.join("worktrees")).unwrap_or_default();
    let linked = linked.into_iter().map(|(name, _)| git_directory.join("worktrees").join(name));
    let parts = std::iter::once(git_directory.to_owned()).chain(linked).map(|part| part.join("modules"));
    let mut pending: Vec<PathBuf> = parts.filter(|modules| is_directory(modules, files)).collect();
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

/// The files of every repository that a directory lies in whose conflicts git remembers; nothing where that cannot
/// be told.
pub fn remembered_conflicts(directory: &Path, files: &dyn Files) -> Option<Vec<PathBuf>> {
    let parts = directory.ancestors().flat_map(|tree| {
        git_directories(tree, files).into_iter().map(move |git| (tree, git.join("MERGE_RR")))
    });
    let lists = parts.filter(|(_, list)| files.look(list).is_ok());
    let found = lists.map(|(tree, list)| git_conflicts(&files.read(&list).ok()?, tree));
    Some(found.collect::<Option<Vec<_>>>()?.concat())
}

fn is_directory(path: &Path, files: &dyn Files) -> bool {
    files.look(path).is_ok_and(|found| found.kind == FileKind::Directory)
}

/// The link that a path is or goes through, if there is one, whether or not it leads anywhere by now.
pub fn link_on_the_way(path: &Path, files: &dyn Files) -> Option<PathBuf> {
    let is_link = |at: &&Path| files.look(at).is_ok_and(|found| found.kind == FileKind::Symlink);
    path.ancestors().find(is_link).map(Path::to_owned)
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
            .text("/ws/.git/worktrees/wt/modules/d/config", "[core]\n\tworktree = ../../../../../d\n")
            .text("/ws/sub/.git/modules/c/config", "[core]\n\tworktree = ../../../c\n");
        let mut trees = submodule_work_trees(Path::new("/ws/sub/deep"), &files).unwrap();
        trees.sort();
        assert_eq!(trees, ["/ws/a", "/ws/b", "/ws/b/er", "/ws/d", "/ws/sub/c"].map(PathBuf::from));
        assert_eq!(submodule_work_trees(Path::new("/other"), &files), Some(Vec::new()));
    }

    #[test]
    fn conflicts_of_every_work_tree_above_are_found() {
        let files = Tree::new()
            .text("/ws/.git/HEAD", "")
            .text("/ws/.git/MERGE_RR", "11\ta/b\0")
            .text("/ws/sub/.git", "gitdir: ../.git/modules/sub\n")
            .text("/ws/.git/modules/sub/MERGE_RR", "11\tc\0");
        let mut found = remembered_conflicts(Path::new("/ws/sub/deep"), &files).unwrap();
        found.sort();
        assert_eq!(found, ["/ws/a/b", "/ws/sub/c"].map(PathBuf::from));
        assert_eq!(remembered_conflicts(Path::new("/other"), &files), Some(Vec::new()));
        let files = files.text("/ws/.git/MERGE_RR", "?");
        assert_eq!(remembered_conflicts(Path::new("/ws"), &files), None);
    }

    #[test]
    fn links_on_the_way_are_seen_wherever_they_lead() {
        let files = Tree::new().directory("/ws/real").link("/ws/link", "/away").link("/ws/lost", "nowhere");
        let told = |path: &str| link_on_the_way(Path::new(path), &files);
        assert_eq!(told("/ws/real"), None);
        assert_eq!(told("/ws/real/not/yet"), None);
        assert_eq!(told("/ws/link"), Some("/ws/link".into()));
        assert_eq!(told("/ws/lost"), Some("/ws/lost".into()));
        assert_eq!(told("/ws/lost/not/yet"), Some("/ws/lost".into()));
    }
}
