//! Going down from the root to a path, and what the rules say on the way.

use super::caches;
use super::table::{Node, Opening, Progress, State, Table, names};
use crate::FileKind;
use crate::access::Standing;
use crate::rules::{Facts, List, RuleId};
use std::path::Path;

/// What the rules say at the end of a path.
#[derive(Debug)]
pub(super) struct Place<'p> {
    pub(super) standing: Standing,
    /// Patterns without a fixed beginning hold here.
    pub(super) anywhere: bool,
    /// Mandatory protection holds here.
    pub(super) writable: bool,
    /// In a cache of tools: what holds there of mandatory protection is about git.
    pub(super) cached: bool,
    /// In a cache, above a place of repositories.
    pub(super) leads_to_repository: bool,
    /// Inside node_modules.
    pub(super) modules: bool,
    /// The sandbox's own file system: the host's rules are not about it.
    pub(super) private: bool,
    /// A rule that refuses a name further down.
    pub(super) refuses_below: Option<RuleId>,
    /// Names further down are protected because of what stands here.
    pub(super) protected_root: bool,
    /// The names below the innermost git directory, if it lies in one.
    pub(super) in_git: Option<Vec<&'p [u8]>>,
}

struct Descent<'t> {
    table: &'t Table,
    node: Option<&'t Node>,
    standing: Standing,
    anywhere: bool,
    shallow: bool,
    writable: bool,
    cached: bool,
    modules: bool,
    private: bool,
    states: Vec<State>,
    next: Vec<State>,
    hits: Vec<RuleId>,
}

impl Table {
    /// Goes down to a path that is, or would be, of this kind.
    pub(super) fn descend<'p>(&self, path: &'p Path, kind: FileKind) -> Place<'p> {
        let mut descent = Descent {
            table: self,
            node: None,
            standing: self.start,
            anywhere: false,
            shallow: false,
            writable: false,
            cached: false,
            modules: false,
            private: false,
            states: Vec::new(),
            next: Vec::new(),
            hits: Vec::new(),
        };
        let mut in_git: Option<Vec<&[u8]>> = None;
        let mut in_cache: Vec<&[u8]> = Vec::new();
        let mut rest = names(path).peekable();
        let kind_at = |last: bool| if last { kind } else { FileKind::Directory };
        descent.arrive(Some(self.root()), kind_at(rest.peek().is_none()));
        while let Some(name) = rest.next() {
            if descent.is_done() {
                break;
            }
            let child = descent.node.and_then(|node| self.child(node, name));
            let protects = descent.writable || child.is_some_and(|child| child.leads_to_writable);
            descent.judge(name, child, protects, in_git.is_some());
            if descent.cached {
                in_cache.push(name);
            }
            let is_git = name == b".git"
                || child.is_some_and(|child| child.git_directory)
                || caches::holds_repository(&in_cache);
            if self.git.is_some() && (protects || descent.cached) && is_git {
                in_git = Some(Vec::new());
            } else if let Some(below) = &mut in_git {
                below.push(name);
            }
            descent.modules |= name == b"node_modules";
            descent.arrive(child, kind_at(rest.peek().is_none()));
        }
        let later = descent.states.iter().find_map(|state| self.refuses_later(*state));
        let node = descent.node;
        Place {
            standing: descent.standing,
            anywhere: descent.anywhere,
            writable: descent.writable,
            cached: descent.cached,
            leads_to_repository: caches::leads_to_repository(&in_cache),
            modules: descent.modules,
            private: descent.private,
            refuses_below: later.or(node.and_then(|node| node.refuses_below)),
            protected_root: node.is_some_and(|node| node.protected_root),
            in_git,
        }
    }
}

impl<'t> Descent<'t> {
    /// Whether nothing further down could change anything.
    fn is_done(&self) -> bool {
        self.node.is_none() && self.states.is_empty() && !(self.anywhere || self.writable || self.cached)
    }

    /// What a name in the current directory completes and begins.
    fn judge(&mut self, name: &[u8], child: Option<&'t Node>, protects: bool, in_git: bool) {
        let table = self.table;
        let states = std::mem::take(&mut self.states);
        for state in &states {
            self.step(*state, name, protects);
        }
        self.states = states;
        if self.anywhere {
            self.begin(&table.floating, name, protects);
        } else if child.is_some_and(|child| child.listed_file) {
            // Only its own name counts: nothing lies below a file.
            self.begin(&table.floating, name, protects);
            self.next.clear();
        }
        if in_git {
            return;
        }
        if self.writable {
            self.begin(&table.any_depth, name, protects);
            if !self.modules {
                self.begin(&table.outside_modules, name, protects);
            }
        }
        if protects && self.node.is_some_and(|node| node.protected_root) {
            self.begin(&table.at_roots, name, protects);
        }
    }

    fn begin(&mut self, opening: &'t Opening, name: &[u8], protects: bool) {
        if opening.is_empty() {
            return;
        }
        for state in opening.begun_by(name) {
            self.step(state, name, protects);
        }
    }

    fn step(&mut self, state: State, name: &[u8], here: bool) {
        let Self { table, hits, next, .. } = self;
        table.step(state, name, |progress| match progress {
            // Where nothing may be written there is nothing to protect.
            Progress::Matched { protects: true, .. } if !here => {}
            Progress::Matched { rule, .. } => hits.push(rule),
            Progress::At(state) if !next.contains(&state) => next.push(state),
            Progress::At(_) => {}
        });
    }

    /// Moves on to what the name stands for.
    fn arrive(&mut self, node: Option<&'t Node>, kind: FileKind) {
        let table = self.table;
        self.node = node;
        std::mem::swap(&mut self.states, &mut self.next);
        self.next.clear();
        // Its own entries were judged.
        self.anywhere &= !self.shallow;
        self.shallow = false;
        if let Some(node) = node {
            self.hits.extend(&node.rules);
            self.states.extend(&node.anchored);
            self.writable |= node.writable;
            self.shallow = node.shallow && !self.writable && !self.anywhere;
            self.anywhere |= node.anywhere || node.shallow || (node.writable && kind == FileKind::Directory);
        }
        if self.hits.is_empty() {
            return;
        }
        let any = |lists: &[List]| self.hits.iter().any(|rule| lists.contains(&table.list(*rule)));
        // Listing the very place brings nothing of the host's into it; listing something below does.
        if any(&[List::Private]) {
            self.private = true;
        } else if any(&[List::AllowRead, List::AllowWrite, List::ToolCache]) {
            self.private = false;
        }
        self.cached |= any(&[List::ToolCache]);
        self.standing = self.standing.enter(self.hits.iter().copied(), kind, table);
        self.hits.clear();
    }
}
