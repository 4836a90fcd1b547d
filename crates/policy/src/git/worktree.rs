//! The working tree of a submodule.

use super::parse::parse;
use super::path;
use super::places::GitPlaces;
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

fn resolve(value: &[u8], git_directory: &Path) -> Result<PathBuf, String> {
    let value = str::from_utf8(value).map_err(|_| "the path is not UTF-8")?;
    path::resolve(git_directory, value)
}
