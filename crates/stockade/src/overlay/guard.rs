//! Rules that hold when changes are applied, too.
//!
//! A command could not make what the rules protect, but rules may have become stricter since, and the layer has been
//! lying on a disk: what the host would trust or run is judged again.

use super::change::{Change, EntryKind};
use super::tree::{Tree, is_whiteout, join};
use crate::RealFiles;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use stockade_policy::{
    Check, GitPlaces, Judge, Judgement, NamedTree, Naming, ObjectFormat, Plan, ViolationKind,
    check_git_config_change, check_git_pointer, check_git_state, check_worktree_commondir,
    check_worktree_pointer, git_config_worktree, link_on_the_way, remembered_conflicts, settled_git_index,
    submodule_work_trees,
};

/// Larger files are neither configuration nor pointers.
const LARGEST: u64 = 1 << 20;
/// The list of some millions of files.
const LARGEST_INDEX: u64 = 512 * LARGEST;

/// Judges changes by a plan for the workspace.
pub(super) struct Guard<'t> {
    judge: Judge,
    writable: Vec<PathBuf>,
    named_trees: Vec<NamedTree>,
    workspace: PathBuf,
    host: &'t Tree,
    upper: &'t Tree,
}

impl<'t> Guard<'t> {
    pub(super) fn new(plan: &Plan, workspace: PathBuf, host: &'t Tree, upper: &'t Tree) -> Self {
        let told = plan.broker.as_ref().map(|broker| (broker.writable.clone(), broker.named_trees.clone()));
        let (writable, named_trees) = told.unwrap_or_default();
        Self { judge: Judge::new(plan), writable, named_trees, workspace, host, upper }
    }

    /// Why a change may not be applied, if it may not.
    pub(super) fn refuses(&self, change: &Change) -> Option<String> {
        let path = self.workspace.join(&change.path);
        let named = self.naming(change).map(|naming| self.judge.name(&path, naming));
        let changed = change.before.map(|_| self.judge.change(&path));
        for judgement in named.into_iter().chain(changed) {
            match judgement {
                Judgement::Free => {}
                Judgement::Refused(refusal) => return Some(refusal.reason),
                Judgement::Check(check, refusal) => {
                    if let Some(reason) = self.fails(check, change, &path, refusal.reason) {
                        return Some(reason);
                    }
                }
            }
        }
        if change.after.is_some_and(|after| after.kind == EntryKind::Symlink)
            && let Some(reason) = misleads(&path, &self.named_trees)
        {
            return Some(reason);
        }
        let act = match (&change.before, &change.after) {
            (_, None) => ViolationKind::Unlink,
            (None, _) => ViolationKind::Create,
            (Some(_), Some(_)) => ViolationKind::Write,
        };
        self.judge.why_not(&path, act).map(|refusal| refusal.reason)
    }

    /// Why a change must not be the last of the names that make its directory a repository; nothing where that
    /// is no question.
    pub(super) fn completing(&self, change: &Change) -> Option<String> {
        let naming = self.naming(change)?;
        match self.judge.name(&self.workspace.join(&change.path), naming) {
            Judgement::Check(Check::BareRepository, refusal) => Some(refusal.reason),
            _ => None,
        }
    }

    fn naming(&self, change: &Change) -> Option<Naming> {
        change.after.map(|after| match after.kind {
            EntryKind::File => Naming::File,
            EntryKind::Directory => Naming::Directory,
            EntryKind::Symlink => self.link(&change.path),
            EntryKind::Pipe | EntryKind::Socket | EntryKind::Device => Naming::Special,
        })
    }

    fn link(&self, path: &Path) -> Naming {
        match self.upper.target(path) {
            Ok(target) if target.file_name() == Some(target.as_os_str()) => Naming::SymlinkBeside,
            _ => Naming::Symlink,
        }
    }

    /// Why content, or what lies beside it, does not pass a check.
    fn fails(&self, check: Check, change: &Change, path: &Path, otherwise: String) -> Option<String> {
        let after = change.after?;
        if check == Check::BareRepository {
            return self.completes_repository(change).then_some(otherwise);
        }
        match after.kind {
            EntryKind::File => {}
            // The names in it are judged one by one.
            EntryKind::Directory => return None,
            _ => return Some(otherwise),
        }
        let most = if check == Check::GitIndex { LARGEST_INDEX } else { LARGEST };
        let Some(content) = read(self.upper, &change.path, most) else { return Some(otherwise) };
        let directory = path.parent().unwrap_or(path).to_owned();
        let places =
            GitPlaces { writable: self.writable.clone(), private: Vec::new(), git_directory: directory };
        if check == Check::GitConfig
            && let Some(tree) = git_config_worktree(&content, &places.git_directory)
            && let Some(link) = link_on_the_way(&tree, &RealFiles)
        {
            return Some(format!(
                "the way to its work tree {} goes through the link {}",
                tree.display(),
                link.display()
            ));
        }
        let checked = match check {
            Check::GitConfig => {
                let old = read(self.host, &change.path, LARGEST).unwrap_or_default();
                let [before, after] =
                    [&old, &content].map(|text| git_config_worktree(text, &places.git_directory));
                if after.is_some() && before != after && self.remembers_conflicts(&change.path) {
                    return Some("git remembers conflicts in the work tree it has (MERGE_RR)".to_owned());
                }
                check_git_config_change(&old, &content, &places)
            }
            Check::GitPointer => check_git_pointer(&content, path, &places),
            Check::WorktreeCommonDir => check_worktree_commondir(&content),
            Check::WorktreePointer => check_worktree_pointer(&content, path, &places),
            Check::GitState => {
                let name = path.file_name().unwrap_or_default();
                check_git_state(name.as_encoded_bytes(), &content)
            }
            Check::GitIndex => {
                let is_linked =
                    places.git_directory.parent().is_some_and(|above| above.ends_with("worktrees"));
                let above = change.path.ancestors().nth(if is_linked { 3 } else { 1 });
                let config = above.unwrap_or(Path::new("")).join("config");
                let [upper, host] = [self.upper, self.host].map(|tree| read(tree, &config, LARGEST));
                let format = ObjectFormat::of_config(&upper.or(host).unwrap_or_default());
                let name = path.file_name().unwrap_or_default().as_encoded_bytes();
                // As the broker wrote it; anything else is not from there.
                match settled_git_index(name, &content, format) {
                    Ok(Cow::Borrowed(_)) => Ok(()),
                    Ok(Cow::Owned(_)) => return Some(otherwise),
                    Err(refusal) => Err(refusal),
                }
            }
            Check::BareRepository => Ok(()),
        };
        checked.err().map(|refusal| refusal.to_string())
    }

    /// Whether the git directory of these settings has a list of conflicts with anything in it.
    fn remembers_conflicts(&self, settings: &Path) -> bool {
        let list = settings.with_file_name("MERGE_RR");
        let is_there = !matches!(self.host.look(&list), Ok(None));
        is_there && read(self.host, &list, LARGEST).is_none_or(|content| !content.is_empty())
    }

    /// Whether a directory would look like a repository to git, and does not yet.
    fn completes_repository(&self, change: &Change) -> bool {
        let directory = change.path.parent().unwrap_or(Path::new(""));
        let parts = ["HEAD", "objects", "refs"].map(|name| join(directory, OsStr::new(name)));
        let on_host = |path: &PathBuf| matches!(self.host.look(path), Ok(Some(_)));
        let in_layer =
            |path: &PathBuf| matches!(self.upper.look(path), Ok(Some(found)) if !is_whiteout(&found));
        let gone = |path: &PathBuf| matches!(self.upper.look(path), Ok(Some(found)) if is_whiteout(&found));
        !parts.iter().all(on_host)
            && parts.iter().all(|path| in_layer(path) || (on_host(path) && !gone(path)))
    }
}

/// Why a link may not stand here: git would follow it to a work tree that settings name, or to a file whose conflict it
/// remembers, wherever it leads.
fn misleads(path: &Path, named: &[NamedTree]) -> Option<String> {
    let directory = path.parent().unwrap_or(path);
    let Some(trees) = submodule_work_trees(directory, &RealFiles) else {
        return Some("the submodules of its repository cannot be looked at".to_owned());
    };
    let elsewhere: Option<Vec<_>> = named.iter().map(|named| named.conflicts(&RealFiles)).collect();
    let (Some(mut conflicts), Some(elsewhere)) = (remembered_conflicts(directory, &RealFiles), elsewhere)
    else {
        return Some("the conflicts that git remembers in its repository cannot be looked at".to_owned());
    };
    let below = |paths: Vec<PathBuf>| paths.into_iter().find(|found| found.starts_with(path));
    if let Some(tree) = below(trees) {
        let tree = tree.display();
        return Some(format!("{tree} is the work tree of a submodule, and git would follow a link there"));
    }
    if let Some(tree) = below(named.iter().flat_map(|named| named.ways(&RealFiles)).collect()) {
        let tree = tree.display();
        return Some(format!("{tree} is the work tree of a repository, and git would follow a link there"));
    }
    conflicts.extend(elsewhere.concat());
    let file = below(conflicts)?;
    Some(format!("git remembers the conflict in {} and would follow a link there", file.display()))
}

fn read(tree: &Tree, path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    tree.file(path).ok()?.take(most + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= most).then_some(content)
}
