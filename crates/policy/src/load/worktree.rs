//! Work trees of a repository that lies elsewhere.
//!
//! In a linked work tree `.git` is a file that names a directory of the main repository, and commits go there.
//! Whoever wrote the workspace wrote that file, too; so it is believed only where the repository, which no
//! command of this workspace has written, names the work tree back.

use super::Draft;
use crate::policy::Manner;
use crate::rules::{List, Place, Rule};
use crate::{FileKind, Files, Layer, Switch};
use std::path::{Path, PathBuf};

/// Why a pointer is not followed.
enum Unfit {
    /// It leads to no work tree's part of a repository, or that does not lead back.
    Strange,
    /// The repository has no work tree of its own: its directory is not called `.git`.
    Bare(PathBuf),
}

impl Draft {
    /// Opens the git directory of the main repository as the workspace's own would be open, where the
    /// working directory is a work tree of it. Mandatory protection holds there as in every git directory.
    pub(super) fn open_main_repository(&mut self, files: &dyn Files) {
        if self.policy.manner == Manner::Srt || self.policy.file_rules == Switch::Refused {
            return;
        }
        let Some(tree) = work_tree(&self.policy.workspace, files) else { return };
        if !self.is_writable(&tree, files) {
            return;
        }
        match main_git_directory(&tree, files) {
            Ok(git) => {
                let source = self.policy.book.source(Layer::BuiltIn, "main repository of the git work tree");
                let text = git.to_string_lossy().into();
                let place = Place::Literal(git);
                self.policy.book.add(Rule { list: List::AllowWrite, place, text, source, key: None });
            }
            Err(Unfit::Bare(git)) => self.warn(format!(
                "{} is a work tree of the bare repository {}, which stays as it is: commits will fail; make the work \
                 tree from a repository that is not bare",
                tree.display(),
                git.display()
            )),
            Err(Unfit::Strange) => {}
        }
    }

    /// Whether a rule names the directory, or one above it, without a link that could have been planted.
    fn is_writable(&self, directory: &Path, files: &dyn Files) -> bool {
        self.policy.book.iter().any(|(_, rule)| match &rule.place {
            Place::Literal(path) if rule.list == List::AllowWrite => {
                let own = *path == self.policy.cwd;
                let real = if own { Some(self.policy.workspace.clone()) } else { files.resolve(path).ok() };
                real.is_some_and(|real| directory.starts_with(&real) && (own || real == *path))
            }
            _ => false,
        })
    }
}

/// The nearest directory that has a `.git`, if that is a file.
fn work_tree(workspace: &Path, files: &dyn Files) -> Option<PathBuf> {
    let (directory, kind) = workspace.ancestors().find_map(|directory| {
        files.look(&directory.join(".git")).ok().map(|found| (directory, found.kind))
    })?;
    (kind == FileKind::File).then(|| directory.to_owned())
}

fn main_git_directory(tree: &Path, files: &dyn Files) -> Result<PathBuf, Unfit> {
    let pointer = line(&tree.join(".git"), files).ok_or(Unfit::Strange)?;
    let part = pointer.strip_prefix("gitdir: ").ok_or(Unfit::Strange)?;
    let part = files.resolve(&tree.join(part)).map_err(|_| Unfit::Strange)?;
    let git = match (part.parent(), part.parent().and_then(Path::parent)) {
        (Some(worktrees), Some(git)) if worktrees.ends_with("worktrees") => git,
        _ => return Err(Unfit::Strange),
    };
    let common = line(&part.join("commondir"), files).ok_or(Unfit::Strange)?;
    if files.resolve(&part.join(common)).ok().as_deref() != Some(git) {
        return Err(Unfit::Strange);
    }
    let back = line(&part.join("gitdir"), files).ok_or(Unfit::Strange)?;
    let back = part.join(back);
    let leads_back = back.ends_with(".git")
        && back.parent().and_then(|parent| files.resolve(parent).ok()).as_deref() == Some(tree);
    match git.ends_with(".git") {
        _ if !leads_back => Err(Unfit::Strange),
        true => Ok(git.to_owned()),
        false => Err(Unfit::Bare(git.to_owned())),
    }
}

/// The only line of a small file.
pub(super) fn line(path: &Path, files: &dyn Files) -> Option<String> {
    let text = String::from_utf8(files.read(path).ok()?).ok()?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    (!line.is_empty() && !line.contains(['\n', '\0'])).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Tree, inputs, usual_tree};
    use crate::{Inputs, Policy};

    const PART: &str = "/main/.git/worktrees/wt";

    fn repository(pointer: &str, back: &str) -> Tree {
        usual_tree()
            .text("/wt/.git", pointer)
            .text("/main/.git/worktrees/wt/commondir", "../..\n")
            .text("/main/.git/worktrees/wt/gitdir", back)
            .text("/main/.git/worktrees/wt/HEAD", "ref: refs/heads/wt\n")
            .files(&["/main/.git/HEAD", "/main/.git/config", "/main/.git/hooks/pre-commit.sample"])
            .files(&["/main/.git/objects/x", "/main/.git/refs/heads/x", "/main/src", "/wt/sub/x"])
    }

    fn policy(tree: &Tree, cwd: &str) -> Policy {
        Policy::load(Inputs { cwd: cwd.into(), ..inputs() }, tree).unwrap()
    }

    fn writes(policy: &Policy, tree: &Tree, path: &str) -> bool {
        policy.explain(path.as_ref(), tree).unwrap().write.allowed
    }

    #[test]
    fn the_main_repository_is_open_as_its_own_would_be() {
        for (pointer, back) in [
            ("gitdir: /main/.git/worktrees/wt\n", "/wt/.git\n"),
            ("gitdir: ../main/.git/worktrees/wt\n", "../../../../wt/.git\n"),
        ] {
            let tree = repository(pointer, back);
            let policy = policy(&tree, "/wt");
            for path in ["/main/.git/objects/x", "/main/.git/refs/heads/x", "/main/.git/worktrees/wt/HEAD"] {
                assert!(writes(&policy, &tree, path), "{path}");
            }
            for path in ["/main/.git/hooks/pre-commit", "/main/.git/worktrees/wt/commondir", "/main/src"] {
                assert!(!writes(&policy, &tree, path), "{path}");
            }
            let told = policy.explain("/main/.git/objects/x".as_ref(), &tree).unwrap().write.rule.unwrap();
            let expected = "allowWrite /main/.git (built in: main repository of the git work tree)";
            assert_eq!(told.to_string(), expected);
        }
    }

    #[test]
    fn a_pointer_that_does_not_lead_back_opens_nothing() {
        let good = format!("gitdir: {PART}\n");
        for (pointer, back) in [
            (good.as_str(), "/other/.git\n"),
            (good.as_str(), "/wt/.git/x\n"),
            (good.as_str(), "/wt\n"),
            (good.as_str(), ""),
            ("gitdir: /main/.git\n", "/wt/.git\n"),
            ("gitdir: /main/.git/worktrees\n", "/wt/.git\n"),
            ("gitdir: /nowhere\n", "/wt/.git\n"),
            ("gitdir: /main/.git/worktrees/wt\nmore\n", "/wt/.git\n"),
            ("/main/.git/worktrees/wt\n", "/wt/.git\n"),
        ] {
            let tree = repository(pointer, back);
            assert!(!writes(&policy(&tree, "/wt"), &tree, "/main/.git/objects/x"), "{pointer:?} {back:?}");
        }
        let elsewhere =
            repository(&good, "/wt/.git\n").text("/main/.git/worktrees/wt/commondir", "/home/me\n");
        assert!(!writes(&policy(&elsewhere, "/wt"), &elsewhere, "/main/.git/objects/x"));
    }

    #[test]
    fn what_the_work_tree_may_not_its_repository_may_not() {
        let tree = repository(&format!("gitdir: {PART}\n"), "/wt/.git\n");
        // A directory below the work tree's root: as in any repository, git's own directory is not part of it.
        assert!(!writes(&policy(&tree, "/wt/sub"), &tree, "/main/.git/objects/x"));
        let strict = Inputs { cwd: "/wt".into(), preset: Some("strict".into()), ..inputs() };
        let strict = Policy::load(strict, &tree).unwrap();
        assert!(!writes(&strict, &tree, "/main/.git/objects/x"));
    }

    #[test]
    fn bare_repositories_stay_as_they_are() {
        let tree = usual_tree()
            .text("/wt/.git", "gitdir: /store/worktrees/wt\n")
            .text("/store/worktrees/wt/commondir", "../..\n")
            .text("/store/worktrees/wt/gitdir", "/wt/.git\n")
            .files(&["/store/HEAD", "/store/objects/x", "/store/refs/x"]);
        let policy = policy(&tree, "/wt");
        assert!(!writes(&policy, &tree, "/store/objects/x"));
        assert!(policy.notices().iter().any(|notice| notice.text.contains("bare repository /store")));
    }
}
