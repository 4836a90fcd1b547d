//! Whether the working directory is a place where work may be done.

use super::Draft;
use crate::data;
use crate::policy::WorkspaceGrant;
use std::path::Path;

impl Draft {
    /// A command started in `/` or in a home directory must not be able to write all of it.
    pub(super) fn judge_workspace(&mut self) {
        let system = data::system();
        let workspace = self.policy.workspace.as_path();
        let above_home = self.policy.home.as_ref().is_some_and(|home| home.starts_with(workspace));
        let of_the_system = system.never_workspace.iter().any(|never| workspace == Path::new(never))
            || system.never_workspace_below.iter().any(|never| workspace.starts_with(never));
        if above_home || of_the_system {
            self.policy.workspace_grant = WorkspaceGrant::Refused;
        }
    }

    pub(super) fn warn_about_workspace(&mut self) {
        if std::mem::replace(&mut self.warned_about_workspace, true) {
            return;
        }
        let workspace = self.policy.workspace.display();
        self.warn(format!(
            "the working directory {workspace} is not made writable: it is the root, a home directory or a directory of \
             the system; name a directory inside it, or pass --allow-write {workspace} if you really mean all of it"
        ));
    }
}
