//! From touched paths to mounts.
//!
//! Touched paths are taken parents first. A mount is emitted where the rights differ from what is mounted
//! above; everything else is covered by its surroundings already.

use crate::access::Standing;
use crate::policy::{Manner, Policy};
use crate::rules::{List, RuleId};
use crate::survey::{Point, Survey, holds, order};
use crate::{FileKind, Files, MaskLook, Mount, MountKind, Rights, RootView};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const NOTHING: Rights = Rights { read: false, write: false, execute: false };
/// Where srt's users find a private writable place.
const SRT_PRIVATE: &str = "/dev/shm/tmp";

/// The file system of a plan.
pub(crate) struct Layout {
    pub(crate) root: RootView,
    pub(crate) mounts: Vec<Mount>,
}

/// One step on the way from the root to the current point.
struct Level<'s> {
    path: &'s Path,
    standing: Standing,
    /// What the mounts emitted so far give here.
    shown: Rights,
    mounted: bool,
    /// The mask this lies in, as an index into the mounts.
    mask: Option<usize>,
}

struct Layer<'a, 's> {
    policy: &'a Policy,
    files: &'a dyn Files,
    levels: Vec<Level<'s>>,
    mounts: Vec<Mount>,
    pinned: HashSet<PathBuf>,
}

/// Lays mounts over the root so that every path has the rights the rules give it.
pub(crate) fn lay(policy: &Policy, survey: &Survey, files: &dyn Files) -> Layout {
    let start = Standing::start(policy.read_scope, &policy.book);
    let top =
        Level { path: Path::new("/"), standing: start, shown: start.rights(), mounted: true, mask: None };
    let mut layer = Layer { policy, files, levels: vec![top], mounts: Vec::new(), pinned: HashSet::new() };
    for group in survey.points.chunk_by(|left, right| left.path == right.path) {
        layer.point(group);
    }
    let shown = layer.levels[0].shown;
    let root = if shown.read { RootView::Host { rights: shown } } else { RootView::Listed };
    let mut mounts = layer.mounts;
    if policy.manner == Manner::Srt && policy.environment.temporary.is_none() {
        let kind = MountKind::Tmpfs { mode: 0o700, size: None };
        mounts.push(Mount { path: SRT_PRIVATE.into(), kind, rule: None });
    }
    // Pins were found after what lies below them.
    mounts.sort_by(|left, right| order(&left.path, &right.path));
    if root == RootView::Listed {
        add_links(policy, survey, &mut mounts);
    }
    Layout { root, mounts }
}

impl<'s> Layer<'_, 's> {
    fn point(&mut self, group: &'s [Point]) {
        let (path, identity) = (group[0].path.as_path(), group[0].identity);
        while self.levels.len() > 1 && !self.levels.last().is_some_and(|level| holds(level.path, path)) {
            self.levels.pop();
        }
        let book = &self.policy.book;
        let above = &self.levels[self.levels.len() - 1];
        let standing = above.standing.enter(group.iter().map(|point| point.rule), identity.kind, book);
        let rights = standing.rights();
        let (surroundings, mask) = (above.shown, above.mask);
        if path == Path::new("/") {
            self.levels[0].standing = standing;
            self.levels[0].shown = rights;
            return;
        }
        if identity.kind == FileKind::Symlink {
            // Only kept from being replaced: what it leads to has points of its own.
            if surroundings.write {
                let rights = Rights { write: false, ..surroundings };
                self.emit(path, MountKind::Bind { identity, rights }, group[0].rule);
                self.pin_above(path, group[0].rule);
            }
            return;
        }
        let private = group.iter().find(|point| book.get(point.rule).list == List::Private);
        let mut level = Level { path, standing, shown: rights, mounted: true, mask };
        if let Some(private) = private {
            level.shown = NOTHING;
            level.mask = None;
            self.emit(path, private_kind(path), private.rule);
        } else if rights == surroundings {
            level.mounted = false;
        } else if rights.read {
            if let Some(mask) = mask
                && let MountKind::Mask { look, .. } = &mut self.mounts[mask].kind
            {
                *look = MaskLook::Holes;
            }
            level.mask = None;
            self.emit(path, MountKind::Bind { identity, rights }, deciding(&standing, rights, group));
        } else {
            // What git remembers looks as if it were nothing: whoever copies a repository goes on.
            let is_memory = group.iter().any(|point| book.get(point.rule).hides_git_memory());
            let empty =
                (self.policy.manner == Manner::Srt || is_memory) && identity.kind == FileKind::Directory;
            let look = if empty { MaskLook::Empty } else { MaskLook::Unreadable };
            level.mask = Some(self.mounts.len());
            self.emit(path, MountKind::Mask { identity, look }, deciding(&standing, rights, group));
        }
        // Moved away, it could come back under another name, or hide from the next search.
        if surroundings.write && !rights.write {
            self.pin_above(path, deciding(&standing, rights, group));
        }
        self.levels.push(level);
    }

    fn emit(&mut self, path: &Path, kind: MountKind, rule: RuleId) {
        self.mounts.push(Mount { path: path.to_owned(), kind, rule: Some(self.policy.book.quote(rule)) });
    }

    /// Keeps every directory above a protected path from being renamed away and replaced: a mount point
    /// cannot be renamed. Only a directory whose parent is writable could be.
    fn pin_above(&mut self, path: &Path, rule: RuleId) {
        let mut level = self.levels.len() - 1;
        for directory in path.ancestors().skip(1) {
            let Some(parent) = directory.parent() else { break };
            if self.pinned.contains(directory) {
                break;
            }
            while level > 0 && !holds(self.levels[level].path, directory) {
                level -= 1;
            }
            let here = &self.levels[level];
            let is_mount = here.path == directory && here.mounted;
            let rights = here.shown;
            let around = self.levels[..=level].iter().rev().find(|level| holds(level.path, parent));
            if is_mount || !around.is_some_and(|around| around.shown.write) {
                continue;
            }
            // A directory that is gone again cannot be pinned; the engine will notice the protected path is, too.
            let Ok(identity) = self.files.look(directory) else { continue };
            self.pinned.insert(directory.to_owned());
            self.emit(directory, MountKind::Bind { identity, rights }, rule);
        }
    }
}

fn private_kind(path: &Path) -> MountKind {
    match path.to_str() {
        Some("/dev") => MountKind::Dev,
        Some("/proc") => MountKind::Proc,
        _ => MountKind::Tmpfs { mode: 0o1777, size: None },
    }
}

/// The rule a person should see next to a mount: the one that makes the difference, if it is one of these.
fn deciding(standing: &Standing, rights: Rights, group: &[Point]) -> RuleId {
    use crate::access::View;
    let reading = match standing.view {
        View::Allowed(rule) | View::Denied(rule) | View::Private(rule) => Some(rule),
        View::Open | View::Unlisted => None,
    };
    let candidates = if rights.write {
        [standing.writable, reading, None, None]
    } else if rights.read {
        [standing.kept, standing.barred, standing.runnable, reading]
    } else {
        [standing.sealed, standing.secret, reading, standing.kept]
    };
    let here = |rule: &RuleId| group.iter().any(|point| point.rule == *rule);
    candidates.into_iter().flatten().find(here).unwrap_or(group[0].rule)
}

/// Links that were listed, where the directory they lie in is not there to show them.
fn add_links(policy: &Policy, survey: &Survey, mounts: &mut Vec<Mount>) {
    let mut links = Vec::new();
    for (link, target, rule) in &survey.links {
        let around = mounts.iter().rev().find(|mount| holds(&mount.path, link));
        let shown =
            around.is_some_and(|mount| matches!(mount.kind, MountKind::Bind { rights, .. } if rights.read));
        let known = links.iter().any(|known: &Mount| known.path == *link);
        if !shown && !known {
            let kind = MountKind::Symlink { target: target.clone() };
            links.push(Mount { path: link.clone(), kind, rule: Some(policy.book.quote(*rule)) });
        }
    }
    mounts.append(&mut links);
    mounts.sort_by(|left, right| order(&left.path, &right.path));
}
