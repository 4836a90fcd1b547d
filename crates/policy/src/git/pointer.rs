//! Files that lead git from one directory to another.

use super::path;
use super::places::GitPlaces;
use super::refusal::GitRefusal;
use std::path::{Path, PathBuf};
use std::str;

/// Whether `file`, a `.git` that is no directory, may hold this: `gitdir: PATH` where the path is the part of
/// a work tree or a submodule in a git directory below a writable root, which is protected itself.
///
/// # Errors
///
/// What is wrong with the path.
pub fn check_git_pointer(content: &[u8], file: &Path, places: &GitPlaces) -> Result<(), GitRefusal> {
    let refuse = |reason: String| GitRefusal::new(b"gitdir", 1, reason);
    let path = content
        .strip_prefix(b"gitdir: ")
        .and_then(|rest| rest.strip_suffix(b"\n"))
        .ok_or_else(|| refuse("the file must be one line, gitdir: PATH".to_owned()))?;
    let target = leads_to(path, file).map_err(refuse)?;
    let repository = path::owner_of_worktree(&target)
        .or_else(|| path::owner_of_module(&target))
        .ok_or_else(|| refuse(format!("{} is not in .git/worktrees or .git/modules", target.display())))?;
    if !places.in_writable(repository) {
        return Err(refuse(format!("{} is not below a writable directory", target.display())));
    }
    Ok(())
}

/// Whether the `commondir` of a work tree may hold this: `../..`, the git directory it lies in.
///
/// # Errors
///
/// If it is anything else.
pub fn check_worktree_commondir(content: &[u8]) -> Result<(), GitRefusal> {
    match content {
        b"../.." | b"../..\n" => Ok(()),
        _ => Err(GitRefusal::new(b"commondir", 1, "only ../.. leads to the repository's own git directory")),
    }
}

/// Whether `file`, the `gitdir` of a work tree, may hold this: the path of the work tree's `.git`, below a
/// writable root or in a private directory.
///
/// # Errors
///
/// What is wrong with the path.
pub fn check_worktree_pointer(content: &[u8], file: &Path, places: &GitPlaces) -> Result<(), GitRefusal> {
    let refuse = |reason: String| GitRefusal::new(b"gitdir", 1, reason);
    let path = content.strip_suffix(b"\n").unwrap_or(content);
    let target = leads_to(path, file).map_err(refuse)?;
    let tree = target.parent().filter(|tree| target.ends_with(".git") && !path::has_git(tree));
    match tree {
        Some(tree) if places.in_writable(tree) || places.in_private(tree) => Ok(()),
        Some(_) => Err(refuse(format!("{} is not below a writable directory", target.display()))),
        None => Err(refuse(format!("{} is not the .git of a work tree", target.display()))),
    }
}

fn leads_to(path: &[u8], file: &Path) -> Result<PathBuf, String> {
    let path = str::from_utf8(path).map_err(|_| "the path is not UTF-8")?;
    let directory = file.parent().ok_or("the file lies in no directory")?;
    path::resolve(directory, path)
}
