//! Where a walk starts, and what it looks for there.

use super::walk::{Scope, State, Walk};
use crate::FileKind;
use crate::pattern::Step;
use crate::policy::Manner;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A directory where a walk starts, or learns to look for more.
#[derive(Default)]
pub(super) struct Start<'a> {
    pub(super) scope: Scope,
    pub(super) states: Vec<State<'a>>,
    pub(super) seen: AtomicBool,
    /// Not a directory: only its own name is judged.
    pub(super) file: bool,
}

impl<'a> Walk<'a> {
    /// A listed directory that may be read: patterns without a fixed beginning hold below it.
    pub(super) fn readable_root(&mut self, path: &Path, kind: FileKind) {
        let start = self.start(path);
        start.scope.anywhere = true;
        start.file = kind != FileKind::Directory;
    }

    /// A listed directory that may be written: mandatory protection holds below it, too.
    pub(super) fn writable_root(&mut self, path: &Path, kind: FileKind) {
        let start = self.start(path);
        start.scope.anywhere = true;
        start.scope.writable = true;
        start.file = kind != FileKind::Directory;
        self.writable_roots.push(path.to_owned());
    }

    pub(super) fn start(&mut self, path: &Path) -> &mut Start<'a> {
        if !self.starts.contains_key(path) {
            self.starts.insert(path.to_owned(), Start::default());
            self.start_names.add(path.file_name().unwrap_or_default().as_encoded_bytes());
        }
        // The entry was made above; the closure is never called.
        self.starts.entry(path.to_owned()).or_default()
    }

    /// Whether a directory of this name may be one where a walk starts.
    pub(super) fn may_start(&self, name: &OsStr) -> bool {
        self.start_names.lets_through(name.as_encoded_bytes())
    }

    /// Protected names may lie above a writable root: `allowWrite ~/.bashrc` names one itself, and
    /// `allowWrite .git/hooks` lies in a git directory.
    pub(super) fn protect_roots_from_above(&mut self) -> Vec<(PathBuf, State<'a>)> {
        let mut found = Vec::new();
        for root in self.writable_roots.clone() {
            let mut carried = Vec::new();
            for above in root.ancestors() {
                let states = if above.file_name() == Some(OsStr::new(".git")) {
                    self.git_states()
                } else if above != root && self.is_protected_root(above) {
                    self.root_states(Scope::default())
                } else {
                    continue;
                };
                let Ok(below) = root.strip_prefix(above) else { continue };
                self.follow(above, below, states, &mut found, &mut carried);
            }
            self.start(&root).states.extend(carried);
        }
        found
    }

    fn is_protected_root(&self, directory: &Path) -> bool {
        self.policy.manner == Manner::Native
            && (directory == self.policy.workspace
                || self.policy.home.as_deref() == Some(directory)
                || self.files.look(&directory.join(".git")).is_ok())
    }

    /// Leads states along a known path: what matches on the way, and what is left at its end.
    fn follow(
        &self,
        above: &Path,
        below: &Path,
        mut states: Vec<State<'a>>,
        found: &mut Vec<(PathBuf, State<'a>)>,
        carried: &mut Vec<State<'a>>,
    ) {
        let mut path = above.to_owned();
        for name in below {
            path.push(name);
            let mut next = Vec::new();
            for state in states {
                state.glob.step(state.position, name.as_encoded_bytes(), |step| match step {
                    Step::Matched => found.push((path.clone(), state)),
                    Step::At(position) => next.push(State { position, ..state }),
                });
            }
            states = next;
        }
        carried.extend(states);
    }
}
