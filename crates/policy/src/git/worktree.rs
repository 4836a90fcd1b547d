//! The working tree of a submodule.

use super::config::check_size;
use super::parse::parse;
use super::path;
use super::places::GitPlaces;
use super::refusal::GitRefusal;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str;

/// Whether a git directory may name this as its working tree. Git writes files there, so this is left to
/// submodules, which need it, and to places inside the repository they belong to.
pub(super) fn check_worktree(value: &[u8], places: &GitPlaces) -> Result<(), String> {
    let repository = path::owner_of_module(&places.git_directory)
        .ok_or("only a submodule's git directory, below .git/modules, may name a working tree")?;
    let tree = resolve(value, &places.git_directory)?;
    if path::has_git(&tree) {
        return Err("the working tree would lie in a git directory".to_owned());
    }
    if tree == repository || !tree.starts_with(repository) || !places.in_writable(&tree) {
        return Err(format!("{} is not inside the repository the submodule belongs to", tree.display()));
    }
    Ok(())
}

/// The working tree that a configuration in `git_directory` names. A symbolic link there, or on the way
/// there, would make git write elsewhere: whoever lets the configuration pass has to look, and go on looking.
pub fn git_config_worktree(text: &[u8], git_directory: &Path) -> Option<PathBuf> {
    let entries = parse(text).ok()?;
    let last = entries.iter().rfind(|entry| entry.name == b"core.worktree")?;
    resolve(last.value.as_deref()?, git_directory).ok()
}

/// Every working tree that a configuration names, as written: a person may have named one in ways that commands may
/// not. Git takes the last one; nothing where it would read none.
pub(crate) fn git_config_worktrees(text: &[u8]) -> Vec<PathBuf> {
    let entries = check_size(text).and_then(|()| parse(text)).unwrap_or_default();
    let named = entries.into_iter().filter(|entry| entry.name == b"core.worktree");
    let values = named.filter_map(|entry| entry.value).filter(|value| !value.is_empty());
    values.map(|value| Path::new(OsStr::from_bytes(&value)).to_owned()).collect()
}

/// The configuration with the working trees of submodules named as from their git directories. Git names them
/// absolutely while it makes one, and relatively from then on; where the repository moves, an absolute name would
/// go on leading to the old place, whatever comes to stand there.
pub fn git_config_with_relative_worktree<'t>(
    text: &'t [u8],
    git_directory: &Path,
) -> Result<Cow<'t, [u8]>, GitRefusal> {
    let Some(repository) = path::owner_of_module(git_directory) else { return Ok(Cow::Borrowed(text)) };
    let mut lines: Vec<Cow<'_, [u8]>> =
        text.split_inclusive(|byte| *byte == b'\n').map(Cow::Borrowed).collect();
    for entry in parse(text)? {
        let Some(value) =
            entry.value.filter(|value| entry.name == b"core.worktree" && value.starts_with(b"/"))
        else {
            continue;
        };
        let relative = relative(&value, repository, git_directory);
        let line = lines.get_mut(entry.line - 1).filter(|line| is_just(line, &value));
        match (line, relative) {
            (Some(line), Some(relative)) => *line = format!("\tworktree = {relative}\n").into_bytes().into(),
            _ => {
                let reason = "the working tree has to be named as from the git directory, with .. in front";
                return Err(GitRefusal::new(&entry.name, entry.line, reason));
            }
        }
    }
    match lines.iter().all(|line| matches!(line, Cow::Borrowed(_))) {
        true => Ok(Cow::Borrowed(text)),
        false => Ok(lines.concat().into()),
    }
}

/// The repository whose submodule has this git directory.
pub fn git_module_owner(git_directory: &Path) -> Option<&Path> {
    path::owner_of_module(git_directory)
}

/// An absolute path inside the repository, as seen from a git directory of its submodules.
fn relative(value: &[u8], repository: &Path, git_directory: &Path) -> Option<String> {
    let value = Path::new(str::from_utf8(value).ok()?);
    let ups = git_directory.strip_prefix(repository).ok()?.components().count();
    let below = value.strip_prefix(repository).ok()?.to_str()?;
    Some(format!("{}{below}", "../".repeat(ups)))
}

/// Whether a line says just this, as git writes it.
fn is_just(line: &[u8], value: &[u8]) -> bool {
    line.trim_ascii().strip_prefix(b"worktree = ").is_some_and(|said| said == value)
}

fn resolve(value: &[u8], git_directory: &Path) -> Result<PathBuf, String> {
    let value = str::from_utf8(value).map_err(|_| "the path is not UTF-8")?;
    path::resolve(git_directory, value)
}
