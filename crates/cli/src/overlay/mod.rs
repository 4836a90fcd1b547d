//! `stockade diff`, `apply`, `discard` and `overlays`, and what `run --overlay` does around a run.

mod apply;
mod diff;
mod discard;
mod list;
mod run;

pub(crate) use apply::main as apply;
pub(crate) use diff::main as diff;
pub(crate) use discard::main as discard;
pub(crate) use list::{Form, main as list};
pub(crate) use run::Held;

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use stockade::{Directories, Overlay, OverlayError, OverlayStore, Selection, quoted};

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(transparent)]
    Overlay(#[from] OverlayError),
    #[error(transparent)]
    Build(#[from] stockade::BuildError),
    #[error(transparent)]
    Prepare(#[from] stockade::PrepareError),
    #[error("{} is not below {}, which the overlay is about", quoted(path), quoted(workspace))]
    Elsewhere { path: PathBuf, workspace: PathBuf },
    #[error("cannot use the working directory: {0}")]
    Here(std::io::Error),
}

/// The user's overlays.
fn store() -> OverlayStore {
    let environment: Vec<_> = std::env::vars_os().collect();
    let home = stockade::home(&environment);
    OverlayStore::new(&Directories::new(&environment, home.as_deref()))
}

fn here() -> Result<PathBuf, Refusal> {
    std::env::current_dir().map_err(Refusal::Here)
}

/// The overlay that is meant, and the paths. The first word may be the overlay's.
fn meant(words: Vec<OsString>) -> Result<(Overlay, Selection), Refusal> {
    let (store, here) = (store(), here()?);
    let mut words = words.into_iter().peekable();
    let named = words.peek().and_then(|word| store.open(word.to_str()?, &here).ok());
    let overlay = match named {
        Some(overlay) => {
            words.next();
            overlay
        }
        None => store.only(&here)?,
    };
    let paths =
        words.map(|word| below(&overlay.workspace(), &here.join(word))).collect::<Result<Vec<_>, _>>()?;
    Ok((overlay, if paths.is_empty() { Selection::All } else { Selection::Paths(paths) }))
}

/// A path relative to the workspace. By its words alone: what it names may only be in the overlay.
fn below(workspace: &Path, path: &Path) -> Result<PathBuf, Refusal> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    match plain.strip_prefix(workspace) {
        Ok(below) => Ok(below.to_owned()),
        Err(_) => Err(Refusal::Elsewhere { path: path.to_owned(), workspace: workspace.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_meant_below_the_workspace() {
        let below = |path: &str| below(Path::new("/w/s"), Path::new(path)).ok();
        assert_eq!(below("/w/s/a/./b/../c"), Some("a/c".into()));
        assert_eq!(below("/w/s"), Some("".into()));
        assert_eq!(below("/w/s/../x"), None);
        assert_eq!(below("/w/sx"), None);
    }
}
