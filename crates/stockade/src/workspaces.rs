//! The workspaces that commands have worked in.
//!
//! A link in one of them may be a command's, also when somebody meets it in a run elsewhere. The list lies in
//! Stockade's own state directory, which no command sees. It is read for every sandbox, and written only when a
//! workspace is new.

use crate::grants::replace;
use crate::{Directories, RealFiles, private};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use stockade_policy::{Mount, MountKind, Plan, PlanError, Policy, Request};

/// More are not remembered.
const MOST: usize = 4096;
/// Whoever holds the list writes one small file.
const PATIENCE: Duration = Duration::from_secs(5);
/// Any other byte may stand in a path.
const END: u8 = 0;

/// The list.
#[derive(Debug)]
pub(crate) struct Workspaces {
    directory: PathBuf,
    keeping: Keeping,
}

/// What becomes of a state directory that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    Make,
    /// Nothing is to be kept for this runtime's sake alone.
    AsFound,
}

impl Workspaces {
    /// The list of a user.
    pub(crate) fn new(directories: &Directories, keeping: Keeping) -> Self {
        let directory = directories.state.clone();
        if keeping == Keeping::Make {
            // A mask can only be laid over what is there when a sandbox is planned.
            let _ = private::directory(&directory);
        }
        Self { directory, keeping }
    }

    /// Those that are listed now, the longest known first. A list that is not there, or cannot be read, is empty.
    pub(crate) fn known(&self) -> Vec<PathBuf> {
        entries(&self.directory)
    }

    /// What a policy means for a request, with links of all commands in mind that have worked somewhere by now.
    pub(crate) fn plan(&self, policy: &Policy, request: &Request) -> Result<Plan, PlanError> {
        match policy.knowing(&self.known()) {
            Some(policy) => policy.plan(request, &RealFiles),
            None => policy.plan(request, &RealFiles),
        }
    }

    /// Commands are about to work in a policy's workspace, under this plan. A list that cannot be written stays
    /// as it is: without a home there is none, and commands run all the same.
    pub(crate) fn add(&self, policy: &Policy, plan: &Plan) {
        let workspace = policy.workspace();
        let kept = self.keeping == Keeping::Make || self.directory.is_dir();
        if kept && is_writable(plan, workspace) && !self.known().iter().any(|known| known == workspace) {
            let _ = self.write(workspace);
        }
    }

    fn write(&self, workspace: &Path) -> std::io::Result<()> {
        private::directory(&self.directory)?;
        let _lock = private::hold(&self.directory.join("workspaces.lock"), PATIENCE)?;
        let mut entries = entries(&self.directory);
        if entries.iter().any(|known| known == workspace) {
            return Ok(());
        }
        if entries.len() >= MOST {
            entries.retain(|known| known.is_dir());
            entries.drain(..entries.len().saturating_sub(MOST - 1));
        }
        entries.push(workspace.to_owned());
        let text: Vec<u8> =
            entries.iter().flat_map(|known| [known.as_os_str().as_bytes(), &[END]].concat()).collect();
        replace(&list(&self.directory), &text)
    }
}

/// Whether commands can leave something in the workspace. The root or a home directory, which are not made
/// writable, would put every link of the machine under suspicion.
fn is_writable(plan: &Plan, workspace: &Path) -> bool {
    let holds = |mount: &&Mount| workspace.starts_with(&mount.path);
    let nearest = plan.mounts.iter().filter(holds).max_by_key(|mount| mount.path.components().count());
    nearest.is_some_and(|mount| match &mount.kind {
        MountKind::Bind { rights, .. } | MountKind::Overlay { rights, .. } => rights.write,
        _ => false,
    })
}

fn list(directory: &Path) -> PathBuf {
    directory.join("workspaces")
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let text = std::fs::read(list(directory)).unwrap_or_default();
    let paths = text.split(|byte| *byte == END).map(|path| PathBuf::from(OsStr::from_bytes(path)));
    paths.filter(|path| path.is_absolute()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn workspaces(place: &Path) -> Workspaces {
        let state = ("XDG_STATE_HOME".into(), place.as_os_str().to_owned());
        Workspaces::new(&Directories::new(&[state], None), Keeping::Make)
    }

    #[test]
    fn what_was_added_is_known_next_time() {
        let place = tempfile::tempdir().unwrap();
        let (one, other) = (Path::new("/a/one"), Path::new("/with\nline"));
        let first = workspaces(place.path());
        assert!(first.known().is_empty());
        for workspace in [one, other, one] {
            first.write(workspace).unwrap();
        }
        assert_eq!(workspaces(place.path()).known(), [one, other]);
        let mode = fs::metadata(place.path().join("stockade/workspaces")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_others_add_is_known_at_once() {
        let place = tempfile::tempdir().unwrap();
        let (first, second) = (workspaces(place.path()), workspaces(place.path()));
        second.write(Path::new("/a")).unwrap();
        assert_eq!(first.known(), [Path::new("/a")]);
    }

    #[test]
    fn nothing_is_made_where_nothing_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let state = ("XDG_STATE_HOME".into(), place.path().as_os_str().to_owned());
        let quiet = Workspaces::new(&Directories::new(&[state], None), Keeping::AsFound);
        assert!(quiet.known().is_empty());
        assert!(!place.path().join("stockade").exists());
    }

    #[test]
    fn the_list_is_bounded_and_what_is_gone_goes_first() {
        let place = tempfile::tempdir().unwrap();
        let there = fs::canonicalize(place.path()).unwrap();
        workspaces(place.path()).write(&there).unwrap();
        let text: String = (1..MOST).map(|number| format!("/gone/{number}\0")).collect();
        let list = place.path().join("stockade/workspaces");
        let known = fs::read(&list).unwrap();
        fs::write(&list, [known, text.into_bytes()].concat()).unwrap();
        assert_eq!(workspaces(place.path()).known().len(), MOST);
        workspaces(place.path()).write(Path::new("/new")).unwrap();
        assert_eq!(workspaces(place.path()).known(), [there.as_path(), Path::new("/new")]);
        // Where all are still there, the oldest goes.
        fs::write(&list, "/usr\0/\0".repeat(MOST / 2)).unwrap();
        workspaces(place.path()).write(Path::new("/new")).unwrap();
        let known = workspaces(place.path()).known();
        assert_eq!((known.len(), known[0].as_path()), (MOST, Path::new("/")));
    }
}
