//! Looking into one directory after the other.

use super::{Scope, State, Walk, crew};
use crate::pattern::Step;
use crate::policy::Manner;
use crate::rules::{List, RuleId};
use crate::survey::{PlanError, Survey, holds};
use crate::{FileKind, Notice, NoticeWeight};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Kernel file systems: never searched, whatever lists them.
const NEVER_WALKED: [&str; 3] = ["/dev", "/proc", "/sys"];
/// Directories between two looks at the clock.
const CLOCK_INTERVAL: usize = 64;
/// What opening a directory costs, in entries.
const DIRECTORY_COST: usize = 16;
/// A search of more entries than this is worth a second thread: it takes longer than starting one.
const BIG: usize = 4_096;

/// A directory to look into.
pub(super) struct Visit<'a> {
    path: PathBuf,
    scope: Scope,
    states: Vec<State<'a>>,
    /// It may be in the table of starts.
    start: bool,
}

/// What all walkers of a walk know.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) matches: AtomicUsize,
    directories: AtomicUsize,
    /// What a pattern made writable.
    pub(super) roots: Mutex<Vec<PathBuf>>,
    /// Git directories that something points to.
    pointed_to: Mutex<Vec<PathBuf>>,
}

/// The names of one directory. Kept from directory to directory, because most are forgotten at once.
#[derive(Default)]
struct Listing {
    entries: Vec<(OsString, FileKind)>,
    used: usize,
}

/// One thread's part of a walk.
pub(super) struct Walker<'w, 'a> {
    pub(super) walk: &'w Walk<'a>,
    pub(super) shared: &'w Shared,
    pub(super) survey: Survey,
    pub(super) pending: Vec<Visit<'a>>,
    /// Where the walk began last, for messages.
    pub(super) root: &'w Path,
    listing: Listing,
    directories: usize,
    /// Entries seen by this thread alone.
    work: usize,
}

impl<'w, 'a> Walker<'w, 'a> {
    pub(super) fn new(walk: &'w Walk<'a>, shared: &'w Shared) -> Self {
        Self {
            walk,
            shared,
            survey: Survey::default(),
            pending: Vec::new(),
            root: &walk.policy.workspace,
            listing: Listing::default(),
            directories: 0,
            work: 0,
        }
    }

    /// One that helps with the same walk.
    pub(super) fn another(&self) -> Self {
        Self { root: self.root, ..Self::new(self.walk, self.shared) }
    }

    /// What a helper found.
    pub(super) fn take_over(&mut self, mut helper: Self) {
        self.survey.points.append(&mut helper.survey.points);
        self.survey.notices.append(&mut helper.survey.notices);
        self.survey.repositories.append(&mut helper.survey.repositories);
    }

    pub(super) fn into_survey(self) -> Survey {
        self.survey
    }

    pub(super) fn walk_from(&mut self, path: &'w Path) -> Result<(), PlanError> {
        self.root = path;
        let scope = Scope::default();
        self.pending.push(Visit { path: path.to_owned(), scope, states: Vec::new(), start: true });
        self.drain()
    }

    fn drain(&mut self) -> Result<(), PlanError> {
        while let Some(visit) = self.pending.pop() {
            self.visit(visit)?;
            if self.work > BIG && self.pending.len() > 1 {
                self.work = 0;
                return crew::share(self);
            }
        }
        Ok(())
    }

    /// Git directories in writable regions that a `.git` file or link leads to. Only at the end is it known
    /// what is writable.
    pub(super) fn follow_git_pointers(&mut self) -> Result<(), PlanError> {
        loop {
            let mut targets = self.lock(&self.shared.pointed_to).split_off(0);
            targets.sort();
            targets.dedup();
            let (writable, elsewhere): (Vec<_>, Vec<_>) = {
                let found = self.lock(&self.shared.roots);
                let roots = || self.walk.writable_roots.iter().chain(found.iter());
                targets.into_iter().partition(|target| roots().any(|root| holds(root, target)))
            };
            if writable.is_empty() {
                return Ok(());
            }
            // Nothing can be written there yet, but the next round may find that it can.
            self.lock(&self.shared.pointed_to).extend(elsewhere);
            let scope = Scope { writable: true, git: true, ..Scope::default() };
            let states = || self.walk.in_git.clone();
            let visits =
                writable.into_iter().map(|path| Visit { path, scope, states: states(), start: true });
            self.pending.extend(visits);
            self.drain()?;
        }
    }

    fn lock<'m, T>(&self, mutex: &'m Mutex<T>) -> std::sync::MutexGuard<'m, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A listed file has no directory to be found in: its own name is judged.
    pub(super) fn judge_file(&mut self, path: &Path) -> Result<(), PlanError> {
        let Some(name) = path.file_name() else { return Ok(()) };
        let mut hits = Vec::new();
        self.match_name(name, Scope { anywhere: true, ..Scope::default() }, &[], &mut hits, &mut Vec::new());
        self.found(path, &hits).map(|_| ())
    }

    pub(super) fn visit(&mut self, visit: Visit<'a>) -> Result<(), PlanError> {
        let Visit { path, mut scope, mut states, start } = visit;
        if start && let Some(start) = self.walk.starts.get(&path) {
            start.seen.store(true, Ordering::Relaxed);
            scope.anywhere |= start.scope.anywhere;
            scope.writable |= start.scope.writable;
            scope.shallow = start.scope.shallow && !scope.writable;
            states.extend_from_slice(&start.states);
        }
        let protects = scope.writable && self.walk.protects();
        if !(protects || !states.is_empty() || self.walk.searches(scope)) || is_never_walked(&path) {
            return Ok(());
        }
        self.check_time()?;
        // Taken out, so that entries can be judged while they are borrowed.
        let mut listing = std::mem::take(&mut self.listing);
        listing.used = 0;
        let told = self.walk.files.tell(&path, &mut |name, kind| listing.push(name, kind));
        let judged = match told {
            Ok(()) => {
                self.work += DIRECTORY_COST + listing.used;
                if protects {
                    self.add_protection(&path, &mut scope, &mut states, listing.entries());
                }
                self.judge(&path, scope, &states, listing.entries())
            }
            Err(error) => self.unlistable(&path, error, scope),
        };
        self.listing = listing;
        judged
    }

    fn judge(
        &mut self,
        path: &Path,
        scope: Scope,
        states: &[State<'a>],
        entries: &[(OsString, FileKind)],
    ) -> Result<(), PlanError> {
        let walk = self.walk;
        let protects = scope.writable && walk.protects();
        // Then only names from the table matter.
        let by_name_alone = states.is_empty() && (walk.floating.is_empty() || !scope.anywhere);
        let mut hits = Vec::new();
        for (name, kind) in entries {
            let bytes = name.as_encoded_bytes();
            let git = protects && bytes == b".git" && !scope.git;
            let named = scope.anywhere && walk.names.may_hold(bytes);
            if by_name_alone && *kind != FileKind::Directory && !git && !named {
                continue;
            }
            hits.clear();
            let mut below = Scope { modules: scope.modules || bytes == b"node_modules", ..scope };
            let mut next = Vec::new();
            self.match_name(name, scope, states, &mut hits, &mut next);
            if !scope.anywhere && *kind == FileKind::File && self.lists(&hits) {
                // A file that a pattern lists is a root of its own: its name is judged like a listed file's.
                let listed = Scope { anywhere: true, ..scope };
                self.match_name(name, listed, &[], &mut hits, &mut Vec::new());
            }
            if *kind == FileKind::Symlink {
                // A link on the way to a protected name: what it leads to is protected whole.
                let protected = |state: &&State| walk.policy.book.get(state.rule).list == List::Protected;
                hits.extend(next.iter().filter(protected).map(|state| state.rule));
            }
            if git {
                self.enter_git(&path.join(name), *kind, &mut hits, &mut below, &mut next);
            }
            if !hits.is_empty() {
                let allows = self.found(&path.join(name), &hits)?;
                below.anywhere |= allows.anywhere;
                below.writable |= allows.writable;
            }
            if *kind != FileKind::Directory {
                continue;
            }
            below.anywhere &= !scope.shallow || below.writable;
            let wanted = (below.writable && walk.protects()) || !next.is_empty() || walk.searches(below);
            let start = walk.may_start(name);
            if wanted || start {
                let child = path.join(name);
                if (wanted || walk.starts.contains_key(&child)) && !walk.is_skipped(&child) {
                    below.shallow = false;
                    self.pending.push(Visit { path: child, scope: below, states: next, start });
                }
            }
        }
        Ok(())
    }

    fn lists(&self, hits: &[RuleId]) -> bool {
        let list = |rule: &RuleId| self.walk.policy.book.get(*rule).list;
        hits.iter().any(|rule| matches!(list(rule), List::AllowRead | List::AllowWrite))
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
            hits.extend_from_slice(self.walk.names.about(bytes));
        }
        let floating: &[State] = if scope.anywhere { &self.walk.floating } else { &[] };
        for state in floating.iter().chain(states) {
            state.glob.step(state.position, bytes, |step| match step {
                Step::Matched => hits.push(state.rule),
                // A floating glob starts anew in every directory; only what has moved on is carried.
                Step::At(0) if scope.anywhere && state.position == 0 && self.walk.is_floating(state) => {}
                Step::At(position) => {
                    // A pattern with several `**` comes to the same place on several ways.
                    if !next.iter().any(|known| known.rule == state.rule && known.position == position) {
                        next.push(State { position, ..*state });
                    }
                }
            });
        }
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
        let walk = self.walk;
        let has = |wanted: &str| entries.iter().any(|(name, _)| name == wanted);
        let named_git = path.file_name() == Some(OsStr::new(".git"));
        if named_git || (has("HEAD") && has("objects") && has("refs")) {
            self.survey.repositories.push(path.to_owned());
            scope.git = true;
            states.extend_from_slice(&walk.in_git);
            return;
        }
        let listed = || walk.starts.get(path).is_some_and(|start| start.scope.writable);
        let may_be_listed = || path.file_name().is_none_or(|name| walk.may_start(name));
        let root = walk.policy.manner == Manner::Srt
            || path == walk.policy.workspace
            || walk.policy.home.as_deref() == Some(path)
            || has(".git")
            || (may_be_listed() && listed());
        if root {
            states.extend(walk.root_states(*scope));
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
        let (walk, files) = (self.walk, self.walk.files);
        self.survey.repositories.push(path.to_owned());
        let target = match kind {
            FileKind::Directory => {
                below.git = true;
                next.extend_from_slice(&walk.in_git);
                return;
            }
            FileKind::File => {
                hits.extend(walk.git_file);
                let Some(target) = self.pointed_to(path) else { return };
                if let Some(rule) = walk.git_file {
                    self.survey.guard_way(files, rule, List::Protected, &target, None);
                }
                files.resolve(&target)
            }
            FileKind::Symlink => files.resolve(path),
        };
        if let Ok(target) = target {
            self.lock(&self.shared.pointed_to).push(target);
        }
    }

    /// Where a gitdir pointer file points, as written.
    fn pointed_to(&self, path: &Path) -> Option<PathBuf> {
        let text = String::from_utf8(self.walk.files.read(path).ok()?).ok()?;
        let target = text.strip_prefix("gitdir:")?.trim();
        Some(path.parent()?.join(target))
    }

    /// Nobody can say what is in there, so nobody gets in.
    fn unlistable(&mut self, path: &Path, error: io::Error, scope: Scope) -> Result<(), PlanError> {
        let (Some(rule), true) = (self.walk.unlistable, scope.writable || scope.anywhere) else {
            return Ok(());
        };
        // It went away, or was never a directory.
        if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            return Ok(());
        }
        if path == self.walk.policy.workspace {
            return Err(PlanError::Directory { path: path.to_owned(), source: error });
        }
        self.survey.notices.push(Notice {
            text: format!(
                "{} cannot be looked into for names that rules are about; it is hidden",
                path.display()
            ),
            weight: NoticeWeight::Warning,
        });
        self.found(path, &[rule]).map(|_| ())
    }

    fn check_time(&mut self) -> Result<(), PlanError> {
        self.directories += 1;
        if !self.directories.is_multiple_of(CLOCK_INTERVAL) {
            return Ok(());
        }
        let count = self.shared.directories.fetch_add(CLOCK_INTERVAL, Ordering::Relaxed) + CLOCK_INTERVAL;
        let Walk { began, bounds, .. } = self.walk;
        if began.elapsed() < bounds.time {
            return Ok(());
        }
        match self.walk.any_rule() {
            Some(rule) => Err(PlanError::TooBig {
                rule: self.walk.policy.book.quote(rule),
                root: self.root.to_owned(),
                count,
                seconds: bounds.time.as_secs(),
            }),
            None => Ok(()),
        }
    }
}

impl Listing {
    fn push(&mut self, name: &OsStr, kind: FileKind) {
        match self.entries.get_mut(self.used) {
            Some(entry) => {
                entry.0.clear();
                entry.0.push(name);
                entry.1 = kind;
            }
            None => self.entries.push((name.to_owned(), kind)),
        }
        self.used += 1;
    }

    fn entries(&self) -> &[(OsString, FileKind)] {
        &self.entries[..self.used]
    }
}

fn is_never_walked(path: &Path) -> bool {
    NEVER_WALKED.iter().any(|never| path.as_os_str() == *never)
}
