//! Which rule stands behind a wall that refused.

use super::judge::Judge;
use super::judgement::Refusal;
use super::refusal::{self, option, protected};
use crate::data::{self, System};
use crate::survey::holds;
use crate::{FileKind, MountKind, Rights, RootView, Switch, ViolationKind};
use std::path::Path;
use std::sync::LazyLock;

const NOTHING: Rights = Rights { read: false, write: false, execute: false };

/// Nobody is told how to open a whole directory of these, and nothing less would do.
const SYSTEMS: &str =
    "no allowWrite rule covers it, and it lies in a directory of the system, which is better left alone";

const WHOLE: &str = "no allowWrite rule covers it; a file that is there, or a directory further below, can be allowed by \
                     its name";
/// Where organisations keep what nobody may loosen.
const ORGANISATION: [&str; 2] = ["/etc/stockade", "/etc/claude-code"];

static SYSTEM: LazyLock<System> = LazyLock::new(data::system);

/// Whether opening this would open a directory of the system. A file below one that is written is opened alone.
fn is_systems(subject: &Path, kind: ViolationKind) -> bool {
    let System { never_workspace, never_workspace_below, .. } = &*SYSTEM;
    let is_below = || never_workspace_below.iter().any(|one| subject.starts_with(one));
    never_workspace.iter().chain(never_workspace_below).any(|one| subject == Path::new(one))
        || kind != ViolationKind::Write && is_below()
}

impl Judge {
    /// Which rule stands behind a wall that refused, or none if the refusal was the file system's own.
    pub fn why_not(&self, path: &Path, kind: ViolationKind) -> Option<Refusal> {
        let wants = wanted(kind)?;
        // A parent comes before what lies below it.
        let mount = self.plan.mounts.iter().rev().find(|mount| holds(&mount.path, path));
        let rights = match mount.map(|mount| &mount.kind) {
            Some(MountKind::Bind { rights, .. } | MountKind::Overlay { rights, .. }) => *rights,
            Some(MountKind::Mask { .. }) => NOTHING,
            Some(MountKind::Tmpfs { .. } | MountKind::Dev) => Rights::ALL,
            // The mount itself is read-only; pipes can be written all the same.
            Some(MountKind::Channel { .. }) => Rights { read: true, write: true, execute: false },
            Some(MountKind::Proc) if wants.write => {
                return Some(protected(None, "the kernel's own files stay as they are"));
            }
            Some(MountKind::Proc | MountKind::Symlink { .. } | MountKind::Content { .. }) => {
                Rights::READ_ONLY
            }
            None => match self.plan.root {
                RootView::Host { rights } => rights,
                RootView::Listed => NOTHING,
            },
        };
        let moves = matches!(kind, ViolationKind::Unlink | ViolationKind::Rename);
        let pinned = mount.filter(|mount| moves && mount.path == path);
        if allows(rights, wants) {
            let rule = pinned?.rule.clone();
            let reason = "it is kept where it is, because a rule is about it or something below it";
            return Some(Refusal {
                rule,
                reason: reason.to_owned(),
                suggestion: None,
                grantable: Switch::Refused,
            });
        }
        Some(self.wall(path, kind, rights, wants, mount.and_then(|mount| mount.rule.as_ref())))
    }

    /// A refusal of the mounts.
    fn wall(
        &self,
        path: &Path,
        kind: ViolationKind,
        rights: Rights,
        wants: Rights,
        mounted: Option<&crate::RuleRef>,
    ) -> Refusal {
        let place = self.table.descend(path, FileKind::File);
        let denied = if wants.write { refusal::denied } else { refusal::hidden };
        if let Some(refusal) = denied(&self.table, &place, path, FileKind::File) {
            return refusal;
        }
        let plain = |reason: &str, suggestion: String| Refusal {
            rule: None,
            reason: reason.to_owned(),
            suggestion: Some(suggestion),
            grantable: Switch::Allowed,
        };
        if !rights.read {
            let reason = "only system directories, the workspace and listed paths may be read";
            return plain(reason, option("--allow-read", path));
        }
        if wants.execute {
            return Refusal {
                rule: mounted.cloned(),
                reason: "no allowExecute rule covers it, or a rule denies running it".to_owned(),
                suggestion: None,
                grantable: Switch::Refused,
            };
        }
        // A writable region around a mount that is not: something in a git directory, or a link on the way.
        if place.writable || place.in_git.is_some() {
            return protected(mounted.cloned(), "the host would later run or trust it: mandatory protection");
        }
        let subject = match kind {
            ViolationKind::Write => path,
            // A name is made and removed in its directory.
            _ => path.parent().unwrap_or(path),
        };
        if ORGANISATION.iter().any(|one| path.starts_with(one)) {
            return protected(None, "the organisation's settings are not changed from inside");
        }
        if is_systems(subject, kind) {
            return Refusal { suggestion: None, ..plain(SYSTEMS, String::new()) };
        }
        // A home, a repository: nobody should be led to open all of it for one name.
        if self.table.descend(subject, FileKind::Directory).protected_root {
            return Refusal { suggestion: None, ..plain(WHOLE, String::new()) };
        }
        plain("no allowWrite rule covers it", option("--allow-write", subject))
    }
}

fn wanted(kind: ViolationKind) -> Option<Rights> {
    match kind {
        ViolationKind::Read => Some(Rights { read: true, ..NOTHING }),
        ViolationKind::Write | ViolationKind::Create | ViolationKind::Unlink | ViolationKind::Rename => {
            Some(Rights { write: true, ..NOTHING })
        }
        ViolationKind::Exec => Some(Rights { execute: true, ..NOTHING }),
        _ => None,
    }
}

fn allows(rights: Rights, wants: Rights) -> bool {
    (rights.read || !wants.read) && (rights.write || !wants.write) && (rights.execute || !wants.execute)
}
