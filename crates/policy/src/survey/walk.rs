//! One pass over the roots for every rule that is not a plain path.

use super::roots::Start;
use super::{Bounds, PlanError, Point, Survey, holds, opens, order};
use crate::inputs::Shape;
use crate::pattern::{Glob, Step};
use crate::policy::{Policy, WorkspaceGrant};
use crate::rules::{List, Place, RuleId};
use crate::{FileKind, Files, Notice, NoticeWeight};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Kernel file systems: never searched, whatever lists them.
const NEVER_WALKED: [&str; 3] = ["/dev", "/proc", "/sys"];
/// Directories between two looks at the clock.
const CLOCK_INTERVAL: usize = 64;

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

struct Visit<'a> {
    path: PathBuf,
    scope: Scope,
    states: Vec<State<'a>>,
}

/// The walk.
pub(super) struct Walk<'a> {
    pub(super) policy: &'a Policy,
    pub(super) files: &'a dyn Files,
    bounds: Bounds,
    pub(super) starts: HashMap<PathBuf, Start<'a>>,
    pub(super) writable_roots: Vec<PathBuf>,
    /// `**/name` rules: most of them, and found by one look into a table.
    names: HashMap<&'a [u8], Vec<RuleId>>,
    /// Every other pattern without a fixed beginning.
    floating: Vec<State<'a>>,
    in_git: Vec<State<'a>>,
    at_roots: Vec<State<'a>>,
    at_roots_outside_modules: Vec<State<'a>>,
    git_file: Option<RuleId>,
    unlistable: Option<RuleId>,
    skipped: Vec<PathBuf>,
    pending: Vec<Visit<'a>>,
    /// Where the walk began last, for messages.
    root: PathBuf,
    matches: usize,
    directories: usize,
    began: Instant,
}

impl<'a> Walk<'a> {
    pub(super) fn new(policy: &'a Policy, files: &'a dyn Files, bounds: Bounds) -> Self {
        let mut walk = Self {
            policy,
            files,
            bounds,
            starts: HashMap::new(),
            writable_roots: Vec::new(),
            names: HashMap::new(),
            floating: Vec::new(),
            in_git: Vec::new(),
            at_roots: Vec::new(),
            at_roots_outside_modules: Vec::new(),
            git_file: None,
            unlistable: None,
            skipped: Vec::new(),
            pending: Vec::new(),
            root: policy.workspace.clone(),
            matches: 0,
            directories: 0,
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
                Some(name) => self.names.entry(name).or_default().push(rule),
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
        for (path, state) in self.protect_roots_from_above() {
            self.found(&path, &[state.rule], survey)?;
        }
        let mut order_of_starts: Vec<PathBuf> = self.starts.keys().cloned().collect();
        order_of_starts.sort_by(|left, right| order(left, right));
        for path in order_of_starts {
            let Some(start) = self.starts.get(&path).filter(|start| !start.seen) else { continue };
            if start.file {
                self.judge_file(&path, survey)?;
            } else {
                self.root.clone_from(&path);
                self.pending.push(Visit { path, scope: Scope::default(), states: Vec::new() });
                self.drain(survey)?;
            }
        }
        Ok(())
    }

    fn drain(&mut self, survey: &mut Survey) -> Result<(), PlanError> {
        while let Some(visit) = self.pending.pop() {
            self.visit(visit, survey)?;
        }
        Ok(())
    }

    /// A listed file has no directory to be found in: its own name is judged.
    fn judge_file(&mut self, path: &Path, survey: &mut Survey) -> Result<(), PlanError> {
        let Some(name) = path.file_name() else { return Ok(()) };
        let mut hits = Vec::new();
        self.match_name(name, Scope { anywhere: true, ..Scope::default() }, &[], &mut hits, &mut Vec::new());
        self.found(path, &hits, survey).map(|_| ())
    }

    fn visit(&mut self, visit: Visit<'a>, survey: &mut Survey) -> Result<(), PlanError> {
        let Visit { path, mut scope, mut states } = visit;
        if let Some(start) = self.starts.get_mut(&path) {
            start.seen = true;
            scope.anywhere |= start.scope.anywhere;
            scope.writable |= start.scope.writable;
            scope.shallow = start.scope.shallow && !scope.writable;
            states.extend_from_slice(&start.states);
        }
        let protects = scope.writable && self.protects();
        if !(protects || !states.is_empty() || self.searches(scope)) || is_never_walked(&path) {
            return Ok(());
        }
        self.check_time()?;
        let entries = match self.files.list(&path) {
            Ok(entries) => entries,
            Err(error) => return self.unlistable(&path, error, scope, survey),
        };
        if protects {
            self.add_protection(&path, &mut scope, &mut states, &entries);
        }
        let mut hits = Vec::new();
        for (name, kind) in &entries {
            let bytes = name.as_encoded_bytes();
            hits.clear();
            let mut below = Scope { modules: scope.modules || bytes == b"node_modules", ..scope };
            let mut next = Vec::new();
            self.match_name(name, scope, &states, &mut hits, &mut next);
            if !scope.anywhere && *kind == FileKind::File && self.lists(&hits) {
                // A file that a pattern lists is a root of its own: its name is judged like a listed file's.
                let listed = Scope { anywhere: true, ..scope };
                self.match_name(name, listed, &[], &mut hits, &mut Vec::new());
            }
            if *kind == FileKind::Symlink {
                // A link on the way to a protected name: what it leads to is protected whole.
                let protected = |state: &&State| self.policy.book.get(state.rule).list == List::Protected;
                hits.extend(next.iter().filter(protected).map(|state| state.rule));
            }
            if protects && bytes == b".git" && !scope.git {
                let git = path.join(name);
                self.enter_git(&git, *kind, &mut hits, &mut below, &mut next);
                if let (FileKind::File, Some(rule), Some(target)) =
                    (kind, self.git_file, self.pointed_to(&git))
                {
                    survey.guard_way(self.files, rule, List::Protected, &target, None);
                }
            }
            if !hits.is_empty() {
                let allows = self.found(&path.join(name), &hits, survey)?;
                below.anywhere |= allows.anywhere;
                below.writable |= allows.writable;
            }
            if *kind != FileKind::Directory {
                continue;
            }
            below.anywhere &= !scope.shallow || below.writable;
            let wanted = (below.writable && self.protects()) || !next.is_empty() || self.searches(below);
            if wanted || !self.starts.is_empty() {
                let child = path.join(name);
                if (wanted || self.starts.contains_key(&child)) && !self.is_skipped(&child) {
                    below.shallow = false;
                    self.pending.push(Visit { path: child, scope: below, states: next });
                }
            }
        }
        Ok(())
    }

    fn lists(&self, hits: &[RuleId]) -> bool {
        hits.iter().any(|rule| matches!(self.policy.book.get(*rule).list, List::AllowRead | List::AllowWrite))
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

    /// The rules that a name completes, and the globs that go on below it.
    fn match_name(
        &self,
        name: &OsStr,
        scope: Scope,
        states: &[State<'a>],
        hits: &mut Vec<RuleId>,
        next: &mut Vec<State<'a>>,
    ) {
        let bytes = name.as_encoded_bytes();
        if scope.anywhere {
            hits.extend(self.names.get(bytes).into_iter().flatten());
        }
        let floating: &[State] = if scope.anywhere { &self.floating } else { &[] };
        for state in floating.iter().chain(states) {
            state.glob.step(state.position, bytes, |step| match step {
                Step::Matched => hits.push(state.rule),
                // A floating glob starts anew in every directory; only what has moved on is carried.
                Step::At(0) if scope.anywhere && state.position == 0 && self.is_floating(state) => {}
                Step::At(position) => {
                    // A pattern with several `**` comes to the same place on several ways.
                    if !next.iter().any(|known| known.rule == state.rule && known.position == position) {
                        next.push(State { position, ..*state });
                    }
                }
            });
        }
    }

    fn is_floating(&self, state: &State) -> bool {
        matches!(self.policy.book.get(state.rule).place, Place::Anywhere(_))
    }

    /// What protection adds to the search in a directory of a writable region.
    fn add_protection(
        &mut self,
        path: &Path,
        scope: &mut Scope,
        states: &mut Vec<State<'a>>,
        entries: &[(OsString, FileKind)],
    ) {
        if scope.git {
            return;
        }
        let has = |wanted: &str| entries.iter().any(|(name, _)| name == wanted);
        let named_git = path.file_name() == Some(OsStr::new(".git"));
        if named_git || (has("HEAD") && has("objects") && has("refs")) {
            scope.git = true;
            states.extend_from_slice(&self.in_git);
            return;
        }
        let listed = || self.starts.get(path).is_some_and(|start| start.scope.writable);
        let root = self.policy.shape == Shape::Srt
            || path == self.policy.workspace
            || self.policy.home.as_deref() == Some(path)
            || has(".git")
            || listed();
        if root {
            states.extend(self.root_states(*scope));
        }
    }

    /// A `.git`: a directory to search, or a pointer to one.
    fn enter_git(
        &mut self,
        path: &Path,
        kind: FileKind,
        hits: &mut Vec<RuleId>,
        below: &mut Scope,
        next: &mut Vec<State<'a>>,
    ) {
        let target = match kind {
            FileKind::Directory => {
                below.git = true;
                next.extend_from_slice(&self.in_git);
                return;
            }
            FileKind::File => {
                hits.extend(self.git_file);
                self.pointed_to(path).and_then(|target| self.files.resolve(&target).ok())
            }
            FileKind::Symlink => self.files.resolve(path).ok(),
        };
        let Some(target) = target else { return };
        // Elsewhere nothing can be written anyway.
        if self.writable_roots.iter().any(|root| holds(root, &target)) {
            let scope = Scope { writable: true, git: true, ..Scope::default() };
            self.pending.push(Visit { path: target, scope, states: self.in_git.clone() });
        }
    }

    /// Where a gitdir pointer file points, as written.
    fn pointed_to(&self, path: &Path) -> Option<PathBuf> {
        let text = String::from_utf8(self.files.read(path).ok()?).ok()?;
        let target = text.strip_prefix("gitdir:")?.trim();
        Some(path.parent()?.join(target))
    }

    /// Records a match. What allows something turns the subtree into a root of its own.
    fn found(&mut self, path: &Path, rules: &[RuleId], survey: &mut Survey) -> Result<Scope, PlanError> {
        let mut allows = Scope::default();
        let Some(rule) = rules.first() else { return Ok(allows) };
        self.matches += rules.len();
        if self.matches > self.bounds.matches {
            return Err(PlanError::TooManyMatches {
                rule: self.policy.book.quote(*rule),
                root: self.root.clone(),
                count: self.bounds.matches,
            });
        }
        let Ok(mut identity) = self.files.look(path) else { return Ok(allows) };
        let mut target = path.to_owned();
        if identity.kind == FileKind::Symlink {
            for rule in rules {
                survey.guard_way(self.files, *rule, self.policy.book.get(*rule).list, path, None);
            }
            let Some((real, of)) = self.files.resolve(path).ok().and_then(|real| {
                let identity = self.files.look(&real).ok()?;
                Some((real, identity))
            }) else {
                return Ok(allows);
            };
            (target, identity) = (real, of);
        }
        for rule in rules {
            let list = self.policy.book.get(*rule).list;
            if target != path && opens(list) {
                survey.warn_about_planted(&self.policy.book.quote(*rule), path, &target);
                continue;
            }
            allows.anywhere |= matches!(list, List::AllowRead | List::AllowWrite);
            allows.writable |= list == List::AllowWrite;
            survey.points.push(Point { path: target.clone(), identity, rule: *rule });
            if list == List::Protected && identity.kind == FileKind::Directory {
                self.guard_entries(&target, *rule, survey);
            }
        }
        if allows.writable {
            self.writable_roots.push(target.clone());
        }
        Ok(allows)
    }

    /// What a protected directory holds by link is run or read from there, too.
    fn guard_entries(&mut self, directory: &Path, rule: RuleId, survey: &mut Survey) {
        let mut pending = vec![directory.to_owned()];
        while let Some(directory) = pending.pop() {
            for (name, kind) in self.files.list(&directory).unwrap_or_default() {
                let path = directory.join(name);
                match kind {
                    FileKind::Directory => pending.push(path),
                    FileKind::File => {}
                    FileKind::Symlink => {
                        self.matches += 1;
                        survey.guard_way(self.files, rule, List::Protected, &path, None);
                        if let Ok(target) = self.files.resolve(&path)
                            && let Ok(identity) = self.files.look(&target)
                        {
                            survey.points.push(Point { path: target, identity, rule });
                        }
                    }
                }
            }
        }
    }

    /// Nobody can say what is in there, so nobody gets in.
    fn unlistable(
        &mut self,
        path: &Path,
        error: io::Error,
        scope: Scope,
        survey: &mut Survey,
    ) -> Result<(), PlanError> {
        let (Some(rule), true) = (self.unlistable, scope.writable || scope.anywhere) else { return Ok(()) };
        // It went away, or was never a directory.
        if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            return Ok(());
        }
        if path == self.policy.workspace {
            return Err(PlanError::Directory { path: path.to_owned(), source: error });
        }
        survey.notices.push(Notice {
            text: format!(
                "{} cannot be looked into for names that rules are about; it is hidden",
                path.display()
            ),
            weight: NoticeWeight::Warning,
        });
        self.found(path, &[rule], survey).map(|_| ())
    }

    fn check_time(&mut self) -> Result<(), PlanError> {
        self.directories += 1;
        if !self.directories.is_multiple_of(CLOCK_INTERVAL) || self.began.elapsed() < self.bounds.time {
            return Ok(());
        }
        let rule = self.names.values().flatten().next().copied();
        let rule = rule.or(self.floating.first().map(|state| state.rule)).or(self.git_file);
        let anchored = || self.starts.values().flat_map(|start| &start.states).map(|state| state.rule).next();
        match rule.or_else(anchored) {
            Some(rule) => Err(PlanError::TooBig {
                rule: self.policy.book.quote(rule),
                root: self.root.clone(),
                count: self.directories,
                seconds: self.bounds.time.as_secs(),
            }),
            None => Ok(()),
        }
    }
}

fn is_never_walked(path: &Path) -> bool {
    NEVER_WALKED.iter().any(|never| path == Path::new(never))
}
