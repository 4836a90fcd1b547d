//! Work trees that only the settings of a git directory tell of, and the conflicts that git remembers there.
//!
//! Nothing in such a tree leads to its git directory, so the plan does. It was made before the first command ran, and
//! commands name no work trees but those of submodules: it stays true unless somebody outside changes it. What git
//! goes by is the host's, whatever the sandbox has under the same names.

use super::act::Answer;
use super::trial::{REFUSED, Trial};
use super::work_trees::{Arriving, View};
use rustix::fs::{OFlags, ResolveFlags, fstat};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stockade_policy::{NamedTree, Refusal, ViolationKind};

impl Trial<'_> {
    /// Refuses a link, or a directory with one in it, on the way to such a work tree or to a file in it whose conflict
    /// git remembers.
    pub(super) fn judge_named_trees(&mut self, arriving: Arriving<'_>, new: &Path) -> Result<(), Answer> {
        let broker = self.caller.broker;
        let Some(plan) = &broker.plan.broker else { return Ok(()) };
        for named in &plan.named_trees {
            let ways = match self.ways_of(View::Host, named.tree.clone()) {
                Ok(ways) => ways,
                Err(_) if self.is_closed_by_others(&named.tree) => vec![named.tree.clone()],
                Err(_) => return self.refuse(ViolationKind::Create, new, unknown(named), REFUSED),
            };
            if ways.iter().any(|way| arriving.misleads(new, way)) {
                return self.refuse(ViolationKind::Create, new, misleading(named), REFUSED);
            }
            let conflicts = self.conflicts_of(named);
            // A list that nobody can read is no reason to keep links from other places.
            let is_about = |way: &PathBuf| new.starts_with(way) || way.starts_with(new);
            if conflicts.is_ok() || ways.iter().any(is_about) {
                self.judge_listed(conflicts, &named.tree, arriving, new)?;
            }
        }
        Ok(())
    }

    /// Whether the way to a tree ends where somebody else closed it. One of its own directories a command may have
    /// closed for a moment.
    fn is_closed_by_others(&self, tree: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let open = |above: &Path| self.open_in(View::Host, above, flags, ResolveFlags::NO_MAGICLINKS).ok();
        let found = tree.ancestors().find_map(open).and_then(|last| fstat(last).ok());
        found.is_some_and(|last| last.st_uid != rustix::process::geteuid().as_raw())
    }

    fn conflicts_of(&self, named: &NamedTree) -> Result<Vec<PathBuf>, Errno> {
        match self.open_git(View::Host, &named.git_directory)? {
            Some(git) => self.conflicts(View::Host, Arc::new(git), &named.tree),
            None => {
                // Somebody else's, or not there any more: it may come back with what it lists.
                let flags = OFlags::PATH | OFlags::CLOEXEC;
                self.open_in(View::Host, &named.git_directory, flags, ResolveFlags::NO_MAGICLINKS)?;
                Ok(Vec::new())
            }
        }
    }
}

fn misleading(named: &NamedTree) -> Refusal {
    let (tree, git) = (named.tree.display(), named.git_directory.display());
    Refusal::flat(format!(
        "{tree} is the work tree of {git}: git would follow a link there, wherever it leads"
    ))
}

fn unknown(named: &NamedTree) -> Refusal {
    let (tree, git) = (named.tree.display(), named.git_directory.display());
    Refusal::flat(format!("the way to {tree}, the work tree of {git}, cannot be looked at"))
}
