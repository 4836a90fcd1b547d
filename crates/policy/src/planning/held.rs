//! Changes to the workspace that are held back in an overlay.

use super::mounts::Layout;
use crate::policy::Policy;
use crate::survey::{PlanError, holds, order};
use crate::{FileKind, Files, Mount, MountKind, Notice, NoticeWeight, Rights, RootView};
use std::path::{Path, PathBuf};

/// Puts the overlay, where one is wanted, in the place of what lets the workspace be written.
pub(super) fn lay(policy: &Policy, layout: &mut Layout, files: &dyn Files) -> Result<Vec<Notice>, PlanError> {
    let Some(directory) = &policy.own.overlay else { return Ok(Vec::new()) };
    let workspace = &policy.workspace;
    let refused = |reason: &str| PlanError::Overlay { path: workspace.clone(), reason: reason.to_owned() };
    if holds(workspace, directory) {
        return Err(refused("it holds the directory that the changes would be kept in"));
    }
    let rights = match layout.rights(workspace) {
        Some(rights) if rights.write => rights,
        Some(_) => return Err(refused("it may not be written, so there is nothing to hold back")),
        None => return Err(refused("it lies on a private file system, so there is nothing to hold back")),
    };
    let identity =
        files.look(workspace).map_err(|source| PlanError::Directory { path: workspace.clone(), source })?;
    if identity.kind != FileKind::Directory {
        return Err(refused("it is not a directory"));
    }
    let direct = layout.writable_beside(workspace);
    let rule = layout.mounts.iter().rev().find(|mount| holds(&mount.path, workspace));
    let rule = rule.and_then(|mount| mount.rule.clone());
    let kind = MountKind::Overlay { identity, rights, directory: directory.clone() };
    layout.mounts.retain(|mount| mount.path != *workspace);
    layout.mounts.push(Mount { path: workspace.clone(), kind, rule });
    layout.mounts.sort_by(|left, right| order(&left.path, &right.path));
    Ok(notice(policy, &direct).into_iter().collect())
}

impl Layout {
    /// What may be done with the host's files at this path; nothing where the host's files are not there.
    fn rights(&self, path: &Path) -> Option<Rights> {
        match self.mounts.iter().rev().find(|mount| holds(&mount.path, path)).map(|mount| &mount.kind) {
            Some(MountKind::Bind { rights, .. }) => Some(*rights),
            Some(_) => None,
            None => match self.root {
                RootView::Host { rights } => Some(rights),
                RootView::Listed => None,
            },
        }
    }

    /// The topmost places of the host's that may be written besides the workspace.
    fn writable_beside(&self, workspace: &Path) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = Vec::new();
        for mount in &self.mounts {
            let writable = matches!(mount.kind, MountKind::Bind { rights, .. } if rights.write);
            let known = places.iter().any(|place| holds(place, &mount.path));
            if writable && !known && !holds(workspace, &mount.path) {
                places.push(mount.path.clone());
            }
        }
        places
    }
}

/// Whoever has changes held back should know which are not.
fn notice(policy: &Policy, direct: &[PathBuf]) -> Option<Notice> {
    const NAMED: usize = 3;
    let direct: Vec<String> = direct
        .iter()
        .filter(|path| !holds(&policy.own.cache, path))
        .map(|path| path.display().to_string())
        .collect();
    let (named, more) = direct.split_at(direct.len().min(NAMED));
    let and_more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    (!direct.is_empty()).then(|| Notice {
        text: format!(
            "the overlay holds back changes to the workspace only; these places are changed directly: {}{and_more}",
            named.join(", ")
        ),
        weight: NoticeWeight::Warning,
    })
}
