//! Work trees that only the settings of a git directory tell of.
//!
//! Most work trees have a `.git` of their own, by which they are known when something happens in them. Where a person
//! had `core.worktree` name another directory, nothing there says so: it has to be found out beforehand. Git takes
//! the word of the repository's own settings only, not of those they include, nor of the person's.

use crate::Files;
use crate::git::{git_config_worktrees, git_conflicts, git_module_owner};
use crate::load::git_directories;
use crate::work_trees::SETTINGS;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// A work tree without a `.git` of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedTree {
    /// Whose settings name it. Absolute, free of links.
    pub git_directory: PathBuf,
    /// Absolute. Links on the way are git's to follow, and so may come before a `..`.
    pub tree: PathBuf,
}

impl NamedTree {
    /// The tree as it is written, and where that leads.
    pub fn ways(&self, files: &dyn Files) -> Vec<PathBuf> {
        let real = files.resolve(&self.tree).ok().filter(|real| *real != self.tree);
        std::iter::once(self.tree.clone()).chain(real).collect()
    }

    /// The files in it whose conflicts git remembers; nothing where that cannot be told.
    pub fn conflicts(&self, files: &dyn Files) -> Option<Vec<PathBuf>> {
        let list = self.git_directory.join("MERGE_RR");
        if files.look(&list).is_err() {
            return Some(Vec::new());
        }
        let content = files.read(&list).ok()?;
        let found = self.ways(files).into_iter().map(|tree| git_conflicts(&content, &tree));
        Some(found.collect::<Option<Vec<_>>>()?.concat())
    }
}

/// What is known of them so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedTrees {
    found: Vec<NamedTree>,
    /// Git directories whose settings were read, and the names under which they were found.
    looked: BTreeSet<PathBuf>,
}

impl NamedTrees {
    /// Takes note of directories whose settings are about to be read.
    pub(crate) fn look(&mut self, name: PathBuf, directories: &[PathBuf]) {
        self.looked.insert(name);
        self.looked.extend(directories.iter().cloned());
    }

    /// Takes note of what the settings of a git directory name, unless that leads back by itself. The work trees of
    /// submodules in their repository are left to the broker: commands may have others named while they run.
    pub(crate) fn add(&mut self, git_directory: &Path, value: &Path, files: &dyn Files) {
        let tree = tree_of(git_directory, value);
        if git_module_owner(git_directory).is_some_and(|owner| tree.starts_with(owner)) {
            return;
        }
        let is_own = git_directories(&tree, files).first().is_some_and(|own| own == git_directory);
        let found = NamedTree { git_directory: git_directory.to_owned(), tree };
        if !is_own && !self.found.contains(&found) {
            self.found.push(found);
        }
    }

    /// These, and those of repositories whose settings nobody has read yet.
    pub(crate) fn with(&self, repositories: &[PathBuf], files: &dyn Files) -> Vec<NamedTree> {
        let mut all = Self::default();
        for name in repositories.iter().filter(|name| !self.looked.contains(*name)) {
            let directories = match name.parent().filter(|_| name.ends_with(".git")) {
                Some(tree) => git_directories(tree, files),
                None => vec![name.clone()],
            };
            for directory in directories {
                if self.looked.contains(&directory) || !all.looked.insert(directory.clone()) {
                    continue;
                }
                let settings = SETTINGS.iter().filter_map(|file| files.read(&directory.join(file)).ok());
                for value in settings.flat_map(|text| git_config_worktrees(&text)) {
                    all.add(&directory, &value, files);
                }
            }
        }
        self.found.iter().cloned().chain(all.found).collect()
    }
}

/// Where a value leads. The git directory has no links in it, so a `..` at the beginning means what it says.
fn tree_of(git_directory: &Path, value: &Path) -> PathBuf {
    let mut tree = git_directory.to_owned();
    let mut rises = true;
    for part in value.components() {
        match part {
            Component::ParentDir if rises => drop(tree.pop()),
            Component::CurDir => {}
            part => {
                rises &= !matches!(part, Component::Normal(_));
                tree.push(part);
            }
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Tree, inputs, request, usual_tree};
    use crate::{Inputs, Policy};

    /// What a plan for `/ws` tells.
    fn told(tree: &Tree) -> Vec<(String, String)> {
        let inputs = Inputs { cwd: "/ws".into(), home: Some("/home/me".into()), ..inputs() };
        let plan = Policy::load(inputs, tree).unwrap().plan(&request(), tree).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let named = plan.broker.unwrap().named_trees;
        named.iter().map(|found| (text(&found.git_directory), text(&found.tree))).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(git, tree)| ((*git).to_owned(), (*tree).to_owned())).collect()
    }

    fn bare(tree: Tree, at: &str, settings: &str) -> Tree {
        let parts = ["HEAD", "objects/x", "refs/x"].map(|name| format!("{at}/{name}"));
        tree.files(&parts.each_ref().map(String::as_str)).text(&format!("{at}/config"), settings)
    }

    #[test]
    fn a_plan_tells_of_work_trees_that_only_settings_name() {
        let tree = usual_tree()
            .text("/ws/.git/HEAD", "")
            .text("/ws/.git/config", "[core]\nworktree = ../src\n")
            .text("/ws/.git/config.worktree", "[core]\nworktree = ./../other/\n")
            .directory("/ws/src");
        assert_eq!(told(&tree), pairs(&[("/ws/.git", "/ws/src"), ("/ws/.git", "/ws/other")]));
        // Anywhere in what may be written, also under a name with a dot, and deeper than settings are looked for.
        let tree = bare(usual_tree(), "/ws/repo.git", "[core]\nworktree = /ws/tree\n");
        let tree = bare(tree, "/ws/.dots", "[core]\nworktree = ../l/../x\n").link("/ws/l", "/out/l");
        let tree = bare(tree, "/ws/a/b/c/d/e/f", "[core]\nworktree = ..\n")
            .text("/ws/1/2/3/4/5/6/.git/config", "[core]\nworktree = ../w\n")
            .text("/ws/1/2/3/4/5/6/.git/HEAD", "");
        let expected = [
            ("/ws/.dots", "/ws/l/../x"),
            ("/ws/1/2/3/4/5/6/.git", "/ws/1/2/3/4/5/6/w"),
            ("/ws/a/b/c/d/e/f", "/ws/a/b/c/d/e"),
            ("/ws/repo.git", "/ws/tree"),
        ];
        assert_eq!(told(&tree), pairs(&expected));
        // A repository that the workspace lies in.
        let above = usual_tree().text("/.git/HEAD", "").text("/.git/config", "[core]\nworktree = /ws/t\n");
        assert_eq!(told(&above), pairs(&[("/.git", "/ws/t")]));
    }

    #[test]
    fn conflicts_are_found_behind_links() {
        let files = usual_tree()
            .text("/ws/repo/MERGE_RR", "11\tf\0")
            .directory("/ws/real/tree")
            .link("/ws/link", "real");
        let named = NamedTree { git_directory: "/ws/repo".into(), tree: "/ws/link/tree".into() };
        let expected = ["/ws/link/tree/f", "/ws/real/tree/f"].map(PathBuf::from);
        assert_eq!(named.conflicts(&files), Some(expected.into()));
        let none = NamedTree { git_directory: "/ws/none".into(), ..named.clone() };
        assert_eq!(none.conflicts(&files), Some(Vec::new()));
        assert_eq!(named.conflicts(&files.text("/ws/repo/MERGE_RR", "?")), None);
    }

    #[test]
    fn what_has_a_git_of_its_own_or_is_not_believed_is_left_out() {
        let tree = usual_tree()
            .text("/ws/.git/HEAD", "")
            .text("/ws/.git/config", "[core]\nworktree = ..\n[include]\npath = more\n")
            .text("/ws/.git/more", "[core]\nworktree = /ws/no\n")
            .text("/home/me/.gitconfig", "[core]\nworktree = /ws/no\n")
            .text("/ws/sub/.git", "gitdir: ../.git/modules/sub\n")
            .text("/ws/.git/modules/sub/HEAD", "")
            .text("/ws/.git/modules/sub/config", "[core]\nworktree = ../../../sub\n");
        assert_eq!(told(&tree), pairs(&[]));
        let renamed = tree.text("/ws/.git/modules/sub/config", "[core]\nworktree = ../../../deep\n");
        assert_eq!(told(&renamed), pairs(&[]));
        let outside = renamed.text("/ws/.git/modules/sub/config", "[core]\nworktree = /out\n");
        assert_eq!(told(&outside), pairs(&[("/ws/.git/modules/sub", "/out")]));
    }
}
