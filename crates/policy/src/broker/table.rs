//! The rules of a plan, laid out for going down a path.

use super::plan::{BrokerPlan, GuardPlace, GuardRule};
use crate::access::Standing;
use crate::pattern::{Glob, Segment, Step};
use crate::rules::{Facts, List, RuleId, Spelling};
use crate::settings::native::ReadScope;
use crate::{Layer, RuleRef};
use std::collections::HashMap;
use std::path::Path;

/// What a judge looks things up in.
#[derive(Debug)]
pub(super) struct Table {
    rules: Vec<GuardRule>,
    /// Above every rule.
    pub(super) start: Standing,
    globs: Vec<Pattern>,
    nodes: Vec<Node>,
    /// Patterns without a fixed beginning.
    pub(super) floating: Opening,
    pub(super) at_roots: Opening,
    pub(super) any_depth: Opening,
    pub(super) outside_modules: Opening,
    /// Rules about what lies in a git directory, by their text.
    in_git: HashMap<Box<str>, RuleId>,
    /// The rule about a `.git` that is no directory: mandatory protection of git is on.
    pub(super) git: Option<RuleId>,
}

/// A glob and its rule.
#[derive(Debug)]
struct Pattern {
    rule: RuleId,
    glob: Glob,
    /// Mandatory protection, which only speaks where something may be written.
    protects: bool,
    /// Where a name begins to count: after `**`.
    beginning: u16,
}

/// How far a glob has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    glob: u32,
    position: u16,
}

/// A directory that something is known about.
#[derive(Debug, Default)]
pub(super) struct Node {
    children: HashMap<Box<[u8]>, usize>,
    pub(super) rules: Vec<RuleId>,
    pub(super) anchored: Vec<State>,
    /// A rule that refuses something further down.
    pub(super) refuses_below: Option<RuleId>,
    /// Patterns without a fixed beginning hold below.
    pub(super) anywhere: bool,
    /// They hold for its entries only.
    pub(super) shallow: bool,
    /// They judge its own name.
    pub(super) listed_file: bool,
    pub(super) writable: bool,
    /// It is writable, or something below is.
    pub(super) leads_to_writable: bool,
    pub(super) protected_root: bool,
    pub(super) git_directory: bool,
}

/// Globs that begin in a directory, by the name that begins them.
#[derive(Debug, Default)]
pub(super) struct Opening {
    by_name: HashMap<Box<[u8]>, Vec<State>>,
    wild: Vec<State>,
}

impl Opening {
    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.wild.is_empty()
    }

    pub(super) fn begun_by<'a>(&'a self, name: &[u8]) -> impl Iterator<Item = State> + 'a {
        // Most tables have no wild ones and most names begin nothing.
        self.by_name.get(name).into_iter().flatten().chain(&self.wild).copied()
    }

    fn add(&mut self, state: State, glob: &Glob) {
        match glob.segments().get(usize::from(state.position)) {
            Some(Segment::Name(name)) => self.by_name.entry(name.clone()).or_default().push(state),
            _ => self.wild.push(state),
        }
    }
}

impl Table {
    pub(super) fn new(plan: &BrokerPlan) -> Self {
        let mut table = Self {
            rules: plan.rules.clone(),
            start: Standing::start(ReadScope::All, &Rules(&plan.rules)),
            globs: Vec::new(),
            nodes: vec![Node::default()],
            floating: Opening::default(),
            at_roots: Opening::default(),
            any_depth: Opening::default(),
            outside_modules: Opening::default(),
            in_git: HashMap::new(),
            git: None,
        };
        for (index, rule) in plan.rules.iter().enumerate() {
            table.add(RuleId::at(index), rule);
        }
        for path in &plan.roots {
            table.node(path).anywhere = true;
        }
        for path in &plan.shallow_roots {
            table.node(path).shallow = true;
        }
        for path in &plan.listed_files {
            table.node(path).listed_file = true;
        }
        for path in &plan.protected_roots {
            table.node(path).protected_root = true;
        }
        for path in &plan.git_directories {
            table.node(path).git_directory = true;
        }
        for path in &plan.writable {
            table.node(path).writable = true;
            for above in path.ancestors() {
                table.node(above).leads_to_writable = true;
            }
        }
        table
    }

    fn add(&mut self, id: RuleId, rule: &GuardRule) {
        let refuses = rule.list.refuses();
        match &rule.place {
            GuardPlace::Path { path } => {
                self.node(path).rules.push(id);
                if refuses {
                    self.mark_above(path.ancestors().skip(1), id);
                }
            }
            GuardPlace::Below { base, glob } => {
                let state = self.pattern(id, glob, false);
                self.node(base).anchored.push(State { position: 0, ..state });
                if refuses {
                    self.mark_above(base.ancestors(), id);
                }
            }
            GuardPlace::Anywhere { glob } => {
                let state = self.pattern(id, glob, false);
                let Self { globs, floating, .. } = self;
                floating.add(state, &globs[state.glob as usize].glob);
            }
            GuardPlace::AtRoots { glob } => {
                let state = self.pattern(id, glob, true);
                let Self { globs, at_roots, .. } = self;
                at_roots.add(State { position: 0, ..state }, &globs[state.glob as usize].glob);
            }
            GuardPlace::AtAnyDepth { glob, outside_modules } => {
                let state = self.pattern(id, glob, true);
                let opening = if *outside_modules { &mut self.outside_modules } else { &mut self.any_depth };
                opening.add(state, &self.globs[state.glob as usize].glob);
            }
            GuardPlace::InGitDirectory { glob } => {
                self.in_git.insert(glob.as_str().into(), id);
            }
            GuardPlace::GitPointer => self.git = Some(id),
        }
    }

    fn pattern(&mut self, rule: RuleId, text: &str, protects: bool) -> State {
        let glob = Glob::relative(text);
        let deep = glob.segments().iter().take_while(|segment| **segment == Segment::Deep).count() as u16;
        self.globs.push(Pattern { rule, glob, protects, beginning: deep });
        State { glob: self.globs.len() as u32 - 1, position: deep }
    }

    fn mark_above<'p>(&mut self, paths: impl Iterator<Item = &'p Path>, rule: RuleId) {
        for path in paths {
            self.node(path).refuses_below.get_or_insert(rule);
        }
    }

    fn node(&mut self, path: &Path) -> &mut Node {
        let mut at = 0;
        for name in names(path) {
            at = match self.nodes[at].children.get(name) {
                Some(child) => *child,
                None => {
                    self.nodes.push(Node::default());
                    let child = self.nodes.len() - 1;
                    self.nodes[at].children.insert(name.into(), child);
                    child
                }
            };
        }
        &mut self.nodes[at]
    }

    pub(super) fn root(&self) -> &Node {
        &self.nodes[0]
    }

    pub(super) fn child(&self, node: &Node, name: &[u8]) -> Option<&Node> {
        node.children.get(name).map(|child| &self.nodes[*child])
    }

    /// What a name does to a glob: the rule it completes, or how far it has come.
    pub(super) fn step(&self, state: State, name: &[u8], mut found: impl FnMut(Progress)) {
        let pattern = &self.globs[state.glob as usize];
        pattern.glob.step(state.position, name, |step| {
            found(match step {
                Step::Matched => Progress::Matched { rule: pattern.rule, protects: pattern.protects },
                Step::At(position) => Progress::At(State { position, ..state }),
            });
        });
    }

    /// The rule that refuses what a glob would match further down, if it has come anywhere yet.
    pub(super) fn refuses_later(&self, state: State) -> Option<RuleId> {
        let pattern = &self.globs[state.glob as usize];
        let counts = state.position > pattern.beginning && self.list(pattern.rule).refuses();
        counts.then_some(pattern.rule)
    }

    /// The rule about a name in git directories.
    pub(super) fn git_rule(&self, name: &str) -> Option<RuleId> {
        self.in_git.get(name).copied()
    }

    pub(super) fn quote(&self, id: RuleId) -> RuleRef {
        self.rules[id.index()].rule.clone()
    }
}

/// What a name did to a glob.
pub(super) enum Progress {
    Matched { rule: RuleId, protects: bool },
    At(State),
}

/// The rules of a plan, by their numbers.
struct Rules<'p>(&'p [GuardRule]);

impl Facts for Rules<'_> {
    fn list(&self, id: RuleId) -> List {
        self.0[id.index()].list
    }

    fn layer(&self, id: RuleId) -> Layer {
        self.0[id.index()].rule.origin.layer
    }

    fn spelling(&self, id: RuleId) -> Spelling {
        match self.0[id.index()].place {
            GuardPlace::Path { .. } => Spelling::Literal,
            _ => Spelling::Pattern,
        }
    }

    fn any(&self, list: List) -> bool {
        self.0.iter().any(|rule| rule.list == list)
    }
}

impl Facts for Table {
    fn list(&self, id: RuleId) -> List {
        Rules(&self.rules).list(id)
    }

    fn layer(&self, id: RuleId) -> Layer {
        Rules(&self.rules).layer(id)
    }

    fn spelling(&self, id: RuleId) -> Spelling {
        Rules(&self.rules).spelling(id)
    }

    fn any(&self, list: List) -> bool {
        Rules(&self.rules).any(list)
    }
}

/// The names of an absolute path.
pub(super) fn names(path: &Path) -> impl Iterator<Item = &[u8]> {
    path.as_os_str().as_encoded_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}
