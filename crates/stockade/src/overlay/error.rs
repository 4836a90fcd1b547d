//! What can go wrong with overlays.

use super::change::quoted;
use super::conflict::Conflict;
use std::io;
use std::path::PathBuf;
use stockade_policy::PlanError;

/// An overlay could not be made, looked at, applied or thrown away.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverlayError {
    /// There is no such overlay.
    #[error("there is no overlay {asked}\nhint: `stockade overlays` lists them")]
    Unknown {
        /// The id or name that was asked for.
        asked: String,
    },
    /// A workspace has no overlay.
    #[error(
        "no changes to {} are held back\nhint: `stockade run --overlay` holds changes back; `stockade overlays` lists them all",
        quoted(workspace)
    )]
    None {
        /// The workspace.
        workspace: PathBuf,
    },
    /// A workspace has several, and none was named.
    #[error("{} has several overlays: {}\nhint: name one of them", quoted(workspace), ids.join(", "))]
    Several {
        /// The workspace.
        workspace: PathBuf,
        /// Their ids.
        ids: Vec<String>,
    },
    /// A name that no overlay can have.
    #[error(
        "an overlay cannot be named {name:?}\nhint: letters, digits, `-`, `_` and `.`, at most 64 of them, and a letter first"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Something of the host's is mounted below the workspace.
    #[error(
        "changes to {} cannot be held back: {} is a mount of its own, and an overlay does not reach into it\nhint: unmount it, or work in a directory without mounts in it",
        quoted(workspace),
        quoted(mount)
    )]
    NestedMount {
        /// The workspace.
        workspace: PathBuf,
        /// What is mounted in it.
        mount: PathBuf,
    },
    /// The directory is not the one the overlay was made for.
    #[error(
        "{} is not the directory that overlay {id} was made for\nhint: put that one back, or discard the overlay",
        quoted(workspace)
    )]
    Moved {
        /// The workspace.
        workspace: PathBuf,
        /// The overlay: its name, or its id where it has none.
        id: String,
    },
    /// A sandbox still works in it.
    #[error("overlay {id} is in use\nhint: wait for the run or session that uses it to end")]
    InUse {
        /// The overlay: its name, or its id where it has none.
        id: String,
    },
    /// It was there a moment ago.
    #[error(
        "overlay {id} is gone\nhint: a run that changes nothing takes its overlay along; otherwise somebody applied or discarded it"
    )]
    Gone {
        /// The overlay: its name, or its id where it has none.
        id: String,
    },
    /// The workspace changed, too.
    #[error(
        "the workspace has changed since overlay {id} was made; nothing was applied:{}\nhint: name other paths, or overwrite the changes with --force",
        listed(conflicts)
    )]
    Conflicts {
        /// The overlay: its name, or its id where it has none.
        id: String,
        /// What both sides changed.
        conflicts: Vec<Conflict>,
    },
    /// The rules about the workspace could not be read.
    #[error(transparent)]
    Rules(#[from] PlanError),
    /// A file could not be read, made or changed.
    #[error("could not {act} {}: {source}", quoted(path))]
    Io {
        /// What was being done.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl OverlayError {
    /// For `map_err`.
    pub(super) fn io<E: Into<io::Error>>(
        act: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |source| Self::Io { act, path, source: source.into() }
    }
}

fn listed(conflicts: &[Conflict]) -> String {
    const NAMED: usize = 10;
    let mut text = String::new();
    for conflict in conflicts.iter().take(NAMED) {
        text.push_str(&format!("\n  {conflict}"));
    }
    if conflicts.len() > NAMED {
        text.push_str(&format!("\n  and {} more", conflicts.len() - NAMED));
    }
    text
}
