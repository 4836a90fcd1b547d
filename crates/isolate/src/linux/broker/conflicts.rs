//! Files whose conflicts git remembers, whose places no link may take.
//!
//! `MERGE_RR` lists the conflicts of a merge that is not done. Git on the host reads each file to learn how it was
//! solved, keeps a copy for the next time, and may write it, all of that through whatever link stands there: the copy
//! is one that commands can read. No command writes such a list, but a person who uses `rerere` leaves one and lets
//! commands solve the conflicts.

use super::act::Answer;
use super::contents::LARGEST;
use super::opening::read_whole;
use super::resolve::Place;
use super::trial::{REFUSED, Trial};
use super::work_trees::{Arriving, UNLINKED, View};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, OFlags, ResolveFlags, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stockade_policy::{Refusal, Switch, ViolationKind, git_conflicts};

impl Trial<'_> {
    /// Refuses a link, or a directory with one in it, on the way to a file of a work tree whose conflict git
    /// remembers.
    pub(super) fn judge_conflicts(
        &mut self,
        view: View,
        tree: &Path,
        arriving: Arriving<'_>,
        new: &Path,
    ) -> Result<(), Answer> {
        let Some(git) = self.git_directory(view, tree) else { return Ok(()) };
        match conflicts(git, tree) {
            Ok(files) => match files.iter().find(|file| arriving.misleads(new, file)) {
                Some(file) => self.refuse(ViolationKind::Create, new, misleading(file), REFUSED),
                None => Ok(()),
            },
            Err(_) => self.refuse(ViolationKind::Create, new, unknown(tree), REFUSED),
        }
    }

    /// Where git keeps what it is in the middle of: `.git`, or what a file of this name leads to.
    fn git_directory(&self, view: View, tree: &Path) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match self.open_in(view, &tree.join(".git"), flags, UNLINKED) {
            Ok(directory) => return Some(directory),
            Err(Errno::NOTDIR) => {}
            Err(_) => return None,
        }
        let top = self.open_in(view, tree, flags, UNLINKED).ok()?;
        let pointer = Place { directory: Arc::new(top), path: tree.to_owned(), name: c".git".into() };
        let text = read_whole(&pointer, LARGEST).ok()?;
        let path = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
        let path = tree.join(OsStr::from_bytes(path));
        self.open_in(view, &path, flags, ResolveFlags::NO_MAGICLINKS).ok()
    }
}

/// The files whose conflicts are remembered.
fn conflicts(git: OwnedFd, tree: &Path) -> Result<Vec<PathBuf>, Errno> {
    // Git writes a new list, and nobody knows yet what it will say.
    if !matches!(statat(&git, c"MERGE_RR.lock", AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT)) {
        return Err(Errno::AGAIN);
    }
    let list = Place { directory: Arc::new(git), path: tree.join(".git"), name: c"MERGE_RR".into() };
    match read_whole(&list, LARGEST) {
        Ok(content) => git_conflicts(&content, tree).ok_or(Errno::INVAL),
        Err(Errno::NOENT) => Ok(Vec::new()),
        Err(errno) => Err(errno),
    }
}

fn misleading(file: &Path) -> Refusal {
    let file = file.display();
    refusal(format!(
        "git remembers the conflict in {file} (MERGE_RR) and would follow a link there, wherever it leads"
    ))
}

fn unknown(tree: &Path) -> Refusal {
    refusal(format!("which conflicts git remembers in {} (MERGE_RR) cannot be told", tree.display()))
}

fn refusal(reason: String) -> Refusal {
    Refusal { rule: None, reason, suggestion: None, grantable: Switch::Refused }
}
