//! The judge.

use super::descent::Place;
use super::git;
use super::judgement::{Check, Judgement, Naming};
use super::plan::StandInRule;
use super::refusal;
use super::stand_ins;
use super::table::Table;
use crate::{FileKind, Plan};
use std::path::Path;

/// Judges paths by a plan's rules. Paths are absolute and free of links.
#[derive(Debug)]
pub struct Judge {
    pub(super) plan: Plan,
    pub(super) table: Table,
    /// Files that have to be stand-ins.
    pub(super) stand_ins: Vec<StandInRule>,
}

/// What is about to happen to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Name(Naming),
    Change,
}

impl Judge {
    /// A judge for this plan.
    pub fn new(plan: &Plan) -> Self {
        let table = match &plan.broker {
            Some(broker) => Table::new(broker),
            None => Table::new(&crate::BrokerPlan::default()),
        };
        Self { plan: plan.clone(), table, stand_ins: stand_ins::laid(plan) }
    }

    /// Whether something may get this name.
    pub fn name(&self, path: &Path, naming: Naming) -> Judgement {
        let place = self.table.descend(path, naming.kind());
        if let Some(refusal) = self.keeps_stand_in(path, naming) {
            return Judgement::Refused(refusal);
        }
        if let Some(refusal) = refusal::denied(&self.table, &place, path, naming.kind()) {
            return Judgement::Refused(refusal);
        }
        // Landlock lets nothing be made there, and does not see what is done on behalf.
        if place.private && is_among_devices(path) {
            return Judgement::Refused(refusal::among_devices());
        }
        // The host would follow the link, and find the protected name at the other end.
        let link = match naming {
            Naming::Symlink => true,
            // What is beside it in a git directory is protected, too.
            Naming::SymlinkBeside => place.in_git.is_none(),
            _ => false,
        };
        if let (true, Some(rule), false) = (link, place.refuses_below, place.private) {
            return Judgement::Refused(refusal::leads_to(&self.table, rule));
        }
        self.judge_content(path, &place, Act::Name(naming))
    }

    /// Whether what exists under this name may be changed, removed or moved away.
    ///
    /// A check is about new content: there is nothing to check where a file is removed, or where the name is
    /// a directory's.
    pub fn change(&self, path: &Path) -> Judgement {
        if let Some(refusal) = self.leads_to_stand_in(path) {
            return Judgement::Refused(refusal);
        }
        let place = self.table.descend(path, FileKind::File);
        match refusal::denied(&self.table, &place, path, FileKind::File) {
            Some(refusal) => Judgement::Refused(refusal),
            None => self.judge_content(path, &place, Act::Change),
        }
    }

    /// Whether this may be read.
    pub fn read(&self, path: &Path) -> Judgement {
        let place = self.table.descend(path, FileKind::File);
        refusal::hidden(&self.table, &place, path, FileKind::File).map_or(Judgement::Free, Judgement::Refused)
    }

    /// Whether a directory that comes to stand at `to` has to be searched for names that rules are about: there, or
    /// where it stood, if they are about what lies below just that place.
    pub fn must_search(&self, from: &Path, to: &Path) -> bool {
        let [from, to] = [from, to].map(|path| self.table.descend(path, FileKind::Directory));
        let rules_differ = (to.anywhere && !from.anywhere)
            || (to.writable && !from.writable)
            || (from.modules && !to.modules && !self.table.outside_modules.is_empty());
        let git = [&from, &to].iter().any(|place| place.in_git.is_some() || place.leads_to_repository);
        let arrives = rules_differ || git || to.refuses_below.is_some() || to.protected_root;
        (from.writable && from.refuses_below.is_some()) || (!to.private && arrives)
    }

    /// Whether git would take this directory for a repository, and its settings and hooks are protected.
    pub fn is_git_directory(&self, path: &Path) -> bool {
        match self.table.descend(path, FileKind::Directory).in_git.as_deref() {
            Some([]) => true,
            Some([first, _, ..]) => *first == b"modules",
            _ => false,
        }
    }

    /// What depends on content, or on what else is there.
    fn judge_content(&self, path: &Path, place: &Place<'_>, act: Act) -> Judgement {
        if place.private {
            return Judgement::Free;
        }
        if let Some(rule) = place.standing.checked {
            let refusal = refusal::protected(Some(self.table.quote(rule)), git::CONFIG);
            return git::content(act, Check::GitConfig, refusal);
        }
        git::judge(&self.table, path, place, act)
    }
}

/// Whether a name would stand beside the devices of the sandbox's own /dev, and not where memory is shared.
fn is_among_devices(path: &Path) -> bool {
    let below = path.strip_prefix("/dev").ok().and_then(|below| below.iter().next());
    below.is_some_and(|first| first != "shm" && first != "mqueue")
}
