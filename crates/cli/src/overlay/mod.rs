//! `stockade diff`, `apply`, `discard` and `overlays`, and what `run --overlay` does around a run.

mod apply;
mod diff;
mod discard;
mod list;
mod run;
mod shown;

pub(crate) use apply::main as apply;
pub(crate) use diff::main as diff;
pub(crate) use discard::main as discard;
pub(crate) use list::{Form, main as list};
pub(crate) use run::Held;

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use stockade::{Change, Directories, Overlay, OverlayError, OverlayStore, Selection, quoted};

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
    #[error("{asked:?} is an overlay and a path\nhint: `./{asked}` is the path, `{id}` is the overlay")]
    Ambiguous { asked: String, id: String },
    #[error(
        "there is neither an overlay nor a change named {}\nhint: the overlays are {overlays}; the changes are {changes}",
        quoted(path)
    )]
    Nothing { path: PathBuf, overlays: String, changes: String },
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
    let named = words.peek().and_then(|word| Some((word.to_str()?, store.open(word.to_str()?, &here).ok()?)));
    let overlay = match named {
        Some((asked, overlay)) => {
            let path = below(&overlay.workspace(), &here.join(asked)).ok();
            let held =
                path.is_some_and(|path| overlay.changes().is_ok_and(|changes| touches(&changes, &path)));
            if held || here.join(asked).symlink_metadata().is_ok() {
                return Err(Refusal::Ambiguous { asked: asked.to_owned(), id: overlay.id().to_owned() });
            }
            words.next();
            overlay
        }
        None => store.only(&here)?,
    };
    let paths =
        words.map(|word| below(&overlay.workspace(), &here.join(word))).collect::<Result<Vec<_>, _>>()?;
    if paths.is_empty() {
        return Ok((overlay, Selection::All));
    }
    let changes = overlay.changes()?;
    if let Some(path) = paths.iter().find(|path| !path.as_os_str().is_empty() && !touches(&changes, path)) {
        return Err(Refusal::Nothing {
            path: path.clone(),
            overlays: some(store.list()?.iter().map(Overlay::label)),
            changes: some(changes.iter().map(|change| quoted(&change.path))),
        });
    }
    Ok((overlay, Selection::Paths(paths)))
}

/// Whether there is a change at a path or below it.
fn touches(changes: &[Change], path: &Path) -> bool {
    changes.iter().any(|change| change.path.starts_with(path))
}

/// How many changes there are, in words.
fn changes(count: usize) -> String {
    format!("{count} change{}", if count == 1 { "" } else { "s" })
}

/// The first few of a list.
fn some(mut names: impl ExactSizeIterator<Item = String>) -> String {
    const NAMED: usize = 10;
    let first: Vec<String> = names.by_ref().take(NAMED).collect();
    match names.len() {
        _ if first.is_empty() => "none".to_owned(),
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
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
