//! One pass over the roots for every rule that is not a plain path.

mod crew;
mod found;
mod sieve;
#[cfg(test)]
mod tests;
mod walker;

pub(super) use sieve::Sieve;

use super::roots::Start;
use super::{Bounds, PlanError, Survey, order};
use crate::Files;
use crate::pattern::Glob;
use crate::policy::{Policy, WorkspaceGrant};
use crate::rules::{Place, RuleId};
use sieve::Names;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;
use walker::{Shared, Walker};

/// What a directory's place in the tree means for its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scope {
    /// Patterns without a fixed beginning hold here.
    pub(super) anywhere: bool,
    /// Mandatory protection holds here.
    pub(super) writable: bool,
    /// Inside a git directory.
    pub(super) git: bool,
    /// Inside node_modules.
    pub(super) modules: bool,
    /// Look at the entries, do not go down because of `anywhere`.
    pub(super) shallow: bool,
}

/// How far a glob has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct State<'a> {
    pub(super) rule: RuleId,
    pub(super) glob: &'a Glob,
    pub(super) position: u16,
}

/// The walk: what is looked for, and where. Walkers do the looking.
pub(super) struct Walk<'a> {
    pub(super) policy: &'a Policy,
    pub(super) files: &'a dyn Files,
    bounds: Bounds,
    pub(super) starts: HashMap<PathBuf, Start<'a>>,
    /// The last names of the starts.
    pub(super) start_names: Sieve,
    pub(super) writable_roots: Vec<PathBuf>,
    /// `**/name` rules: most of them, and found by one look into a table.
    names: Names<'a>,
    /// Every other pattern without a fixed beginning.
    floating: Vec<State<'a>>,
    in_git: Vec<State<'a>>,
    at_roots: Vec<State<'a>>,
    at_roots_outside_modules: Vec<State<'a>>,
    git_file: Option<RuleId>,
    unlistable: Option<RuleId>,
    skipped: Vec<PathBuf>,
    began: Instant,
}

impl<'a> Walk<'a> {
    pub(super) fn new(policy: &'a Policy, files: &'a dyn Files, bounds: Bounds) -> Self {
        let mut walk = Self {
            policy,
            files,
            bounds,
            starts: HashMap::new(),
            start_names: Sieve::default(),
            writable_roots: Vec::new(),
            names: Names::default(),
            floating: Vec::new(),
            in_git: Vec::new(),
            at_roots: Vec::new(),
            at_roots_outside_modules: Vec::new(),
            git_file: None,
            unlistable: None,
            skipped: Vec::new(),
            began: Instant::now(),
        };
        let scope = &mut walk.start(&policy.workspace).scope;
        scope.anywhere = true;
        scope.shallow = policy.workspace_grant == WorkspaceGrant::Refused;
        walk
    }

    /// A glob below one directory.
    pub(super) fn anchor(&mut self, base: PathBuf, rule: RuleId, glob: &'a Glob) {
        self.start(&base).states.push(State { rule, glob, position: 0 });
    }

    /// A rule without a fixed beginning.
    pub(super) fn float(&mut self, rule: RuleId, place: &'a Place) {
        let state = |glob| State { rule, glob, position: 0 };
        match place {
            Place::Anywhere(glob) => match glob.name_anywhere() {
                Some(name) => self.names.add(name, rule),
                None => self.floating.push(state(glob)),
            },
            Place::InGitDirectory(glob) => self.in_git.push(state(glob)),
            Place::AtRoots(glob) => self.at_roots.push(state(glob)),
            Place::AtRootsOutsideModules(glob) => self.at_roots_outside_modules.push(state(glob)),
            Place::GitFile => self.git_file = Some(rule),
            Place::Unlistable => self.unlistable = Some(rule),
            Place::Literal(_) | Place::Anchored { .. } => {}
        }
    }

    /// A directory that is masked anyway.
    pub(super) fn skip(&mut self, path: &Path) {
        self.skipped.push(path.to_owned());
    }

    pub(super) fn git_states(&self) -> Vec<State<'a>> {
        self.in_git.clone()
    }

    pub(super) fn root_states(&self, scope: Scope) -> Vec<State<'a>> {
        let outside: &[State] = if scope.modules { &[] } else { &self.at_roots_outside_modules };
        self.at_roots.iter().chain(outside).copied().collect()
    }

    pub(super) fn run(mut self, survey: &mut Survey) -> Result<(), PlanError> {
        let above = self.protect_roots_from_above();
        let shared = Shared::default();
        let mut walker = Walker::new(&self, &shared);
        for (path, state) in above {
            walker.found(&path, &[state.rule])?;
        }
        let mut starts: Vec<(&PathBuf, &Start)> = self.starts.iter().collect();
        starts.sort_by(|left, right| order(left.0, right.0));
        for (path, start) in starts {
            if start.seen.load(Ordering::Relaxed) {
                continue;
            }
            if start.file {
                walker.judge_file(path)?;
            } else {
                walker.walk_from(path)?;
            }
        }
        walker.follow_git_pointers()?;
        let mut found = walker.into_survey();
        // Which thread found what, and when, must not show.
        found.points.sort_by(|left, right| order(&left.path, &right.path).then(left.rule.cmp(&right.rule)));
        found.notices.sort_by(|left, right| left.text.cmp(&right.text));
        survey.points.append(&mut found.points);
        survey.notices.append(&mut found.notices);
        found.repositories.sort();
        survey.repositories.append(&mut found.repositories);
        Ok(())
    }

    fn is_skipped(&self, path: &Path) -> bool {
        self.skipped.iter().any(|skipped| skipped.as_os_str() == path.as_os_str())
    }

    fn protects(&self) -> bool {
        self.git_file.is_some() || !self.at_roots.is_empty() || !self.at_roots_outside_modules.is_empty()
    }

    fn searches(&self, scope: Scope) -> bool {
        scope.anywhere && !(self.names.is_empty() && self.floating.is_empty())
    }

    fn is_floating(&self, state: &State) -> bool {
        matches!(self.policy.book.get(state.rule).place, Place::Anywhere(_))
    }

    /// A rule that makes the search go on, for a message.
    fn any_rule(&self) -> Option<RuleId> {
        let floating = || self.floating.first().map(|state| state.rule);
        let anchored = || self.starts.values().flat_map(|start| &start.states).map(|state| state.rule).min();
        self.names.first().or_else(floating).or(self.git_file).or_else(anchored)
    }
}
