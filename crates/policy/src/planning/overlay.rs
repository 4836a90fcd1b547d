//! Laying something over single files when the rest of the file system is settled.

use super::mounts::Layout;
use crate::survey::{holds, order};
use crate::{Mount, MountKind, RootView};
use std::path::Path;

impl Layout {
    /// Whether what the host has at this path can be read inside.
    pub(super) fn shows(&self, path: &Path) -> bool {
        // A parent comes before what lies below it.
        match self.mounts.iter().rev().find(|mount| holds(&mount.path, path)).map(|mount| &mount.kind) {
            Some(MountKind::Bind { rights, .. } | MountKind::Overlay { rights, .. }) => rights.read,
            Some(_) => false,
            None => matches!(self.root, RootView::Host { rights } if rights.read),
        }
    }

    /// Lays something over a path, in the place of what was to be laid there.
    pub(super) fn cover(&mut self, mount: Mount) {
        match self.mounts.iter_mut().find(|known| known.path == mount.path) {
            Some(known) => *known = mount,
            None => {
                self.mounts.push(mount);
                self.mounts.sort_by(|left, right| order(&left.path, &right.path));
            }
        }
    }
}
