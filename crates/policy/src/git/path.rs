//! Paths by their words alone.

use std::path::{Component, Path, PathBuf};

const LONGEST: usize = 4096;

/// The path a text names, from a directory that is free of links. `..` may only stand at the beginning of a
/// relative path: behind a name that may be a link it would lead elsewhere than it says.
pub(super) fn resolve(from: &Path, text: &str) -> Result<PathBuf, String> {
    if text.is_empty() || text.len() > LONGEST {
        return Err("the path is empty or too long".to_owned());
    }
    if text.contains(|letter: char| letter.is_control()) || text.trim() != text {
        return Err("the path holds a control character, or white space at an end".to_owned());
    }
    let (mut path, names) = match text.strip_prefix('/') {
        Some(names) => (PathBuf::from("/"), names),
        None if is_plain(from) => (from.to_owned(), text),
        None => return Err(format!("{} is no absolute path to start from", from.display())),
    };
    let mut may_rise = !text.starts_with('/');
    for name in names.split('/') {
        match name {
            "" | "." => return Err("the path has an empty or a . part".to_owned()),
            ".." if may_rise => {
                if !path.pop() {
                    return Err("the path leads above the root".to_owned());
                }
            }
            ".." => return Err("the path has a .. behind a name".to_owned()),
            name => {
                may_rise = false;
                path.push(name);
            }
        }
    }
    Ok(path)
}

/// `R` for `R/.git/modules/name...`.
pub(super) fn owner_of_module(path: &Path) -> Option<&Path> {
    let (repository, inside) = split_at_git(path)?;
    (inside.len() >= 2 && inside[0] == "modules").then_some(repository)
}

/// `R` for `R/.git/worktrees/name`.
pub(super) fn owner_of_worktree(path: &Path) -> Option<&Path> {
    let (repository, inside) = split_at_git(path)?;
    (inside.len() == 2 && inside[0] == "worktrees").then_some(repository)
}

/// Whether a part of the path is called `.git`, in any case: some file systems do not tell them apart.
pub(super) fn has_git(path: &Path) -> bool {
    path.components().any(is_git)
}

/// What stands before the only `.git` of a path, and the names behind it.
fn split_at_git(path: &Path) -> Option<(&Path, Vec<&str>)> {
    let mut inside = Vec::new();
    let mut rest = path;
    while !rest.ends_with(".git") {
        inside.push(rest.file_name()?.to_str()?);
        rest = rest.parent()?;
    }
    inside.reverse();
    let repository = rest.parent()?;
    let again = has_git(repository) || inside.iter().any(|name| name.eq_ignore_ascii_case(".git"));
    (!again).then_some((repository, inside))
}

fn is_plain(path: &Path) -> bool {
    path.has_root() && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

fn is_git(part: Component<'_>) -> bool {
    part.as_os_str().eq_ignore_ascii_case(".git")
}
