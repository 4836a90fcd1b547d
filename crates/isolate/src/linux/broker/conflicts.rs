//! Files whose conflicts git remembers, whose places no link may take.
//!
//! `MERGE_RR` lists the conflicts of a merge that is not done. Git on the host reads each file to learn how it was
//! solved, keeps a copy for the next time, and may write it, all of that through whatever link stands there: the copy
//! is one that commands can read. No command writes such a list, but a person who uses `rerere` leaves one and lets
//! commands solve the conflicts.

use super::act::Answer;
use super::caller::PLACE;
use super::contents::LARGEST;
use super::opening::read_whole;
use super::resolve::Place;
use super::trial::{REFUSED, Trial};
use super::work_trees::{Arriving, UNLINKED, View};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, OFlags, fstat, readlinkat, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stockade_policy::{Refusal, ViolationKind, git_conflicts};

/// More conflicts than this are not looked at one by one, and no link is made beside them.
const MOST_CONFLICTS: usize = 10_000;
/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

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
        let listed = self.git_directory(view, tree).and_then(|git| match git {
            Some(git) => self.conflicts(view, Arc::new(git), tree),
            None => Ok(Vec::new()),
        });
        self.judge_listed(listed, tree, arriving, new)
    }

    /// The same, where somebody has looked which files these are.
    pub(super) fn judge_listed(
        &mut self,
        files: Result<Vec<PathBuf>, Errno>,
        tree: &Path,
        arriving: Arriving<'_>,
        new: &Path,
    ) -> Result<(), Answer> {
        match files {
            Ok(files) => match files.iter().find(|file| arriving.misleads(new, file)) {
                Some(file) => self.refuse(ViolationKind::Create, new, misleading(file), REFUSED),
                None => Ok(()),
            },
            Err(_) => self.refuse(ViolationKind::Create, new, unknown(tree), REFUSED),
        }
    }

    /// The files whose conflicts are remembered, and where they lead by links that stand already.
    pub(super) fn conflicts(
        &self,
        view: View,
        git: Arc<OwnedFd>,
        tree: &Path,
    ) -> Result<Vec<PathBuf>, Errno> {
        // Git writes a new list, and nobody knows yet what it will say.
        if !matches!(statat(&git, c"MERGE_RR.lock", AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT)) {
            return Err(Errno::AGAIN);
        }
        let list = Place { directory: git, path: tree.join(".git"), name: c"MERGE_RR".into() };
        let files = match read_whole(&list, LARGEST) {
            Ok(content) => git_conflicts(&content, tree).ok_or(Errno::INVAL)?,
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(errno) => return Err(errno),
        };
        if files.len() > MOST_CONFLICTS {
            return Err(Errno::TOOBIG);
        }
        let ways: Result<Vec<_>, Errno> = files.into_iter().map(|file| self.ways_of(view, file)).collect();
        Ok(ways?.concat())
    }

    /// Where git keeps what it is in the middle of: `.git`, or what a file of this name leads to.
    fn git_directory(&self, view: View, tree: &Path) -> Result<Option<OwnedFd>, Errno> {
        let path = tree.join(".git");
        match self.open_git(view, &path) {
            Err(Errno::NOTDIR) => {}
            told => return told,
        }
        let top = match self.open_in(view, tree, PLACE, UNLINKED) {
            Ok(top) => top,
            // A file of the host's where the sandbox has a directory of its own.
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        let pointer = Place { directory: Arc::new(top), path: tree.to_owned(), name: c".git".into() };
        let text = match read_whole(&pointer, LARGEST) {
            Ok(text) => text,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return self.unless_strange(view, &path, errno).map(|()| None),
        };
        let Some(path) = text.strip_prefix(b"gitdir: ") else { return Ok(None) };
        match self.open_git(view, &tree.join(OsStr::from_bytes(path.trim_ascii_end()))) {
            // Git takes no second one.
            Err(Errno::NOTDIR) => Ok(None),
            told => told,
        }
    }

    /// A file, and every path that it leads to: a link that stood before it was listed may be one of its ways, and
    /// whoever changes what that leads to changes where git arrives.
    pub(super) fn ways_of(&self, view: View, file: PathBuf) -> Result<Vec<PathBuf>, Errno> {
        let is_plain = !file.iter().any(|name| name == "..");
        if is_plain && self.link_at(view, &file) == Ok(None) {
            return Ok(vec![file]);
        }
        let names = |path: &Path| path.iter().map(ToOwned::to_owned).collect::<Vec<_>>();
        let mut rest: Vec<OsString> = names(&file);
        rest.reverse();
        let (mut here, mut ways, mut links) = (PathBuf::from("/"), vec![file], 0);
        while let Some(name) = rest.pop() {
            match name.as_bytes() {
                b".." => drop(here.pop()),
                b"." | b"/" => {}
                _ => here.push(&name),
            }
            let Some(target) = self.link_at(view, &here)? else { continue };
            links += 1;
            if links > MOST_LINKS {
                return Err(Errno::LOOP);
            }
            here.pop();
            if target.is_absolute() {
                here = PathBuf::from("/");
            }
            rest.extend(names(&target).into_iter().rev());
            ways.push(
                rest.iter()
                    .rev()
                    .filter(|name| *name != "/")
                    .fold(here.clone(), |path, name| path.join(name)),
            );
        }
        ways.push(here);
        Ok(ways)
    }

    /// Where a link leads; nothing if there is none, or nothing at all. An error where one stands on the way.
    fn link_at(&self, view: View, path: &Path) -> Result<Option<PathBuf>, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = match self.open_in(view, path, flags, UNLINKED) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        if FileType::from_raw_mode(fstat(&found)?.st_mode) != FileType::Symlink {
            return Ok(None);
        }
        let target = readlinkat(&found, c"", Vec::new())?;
        Ok(Some(PathBuf::from(OsStr::from_bytes(target.to_bytes()))))
    }
}

fn misleading(file: &Path) -> Refusal {
    let file = file.display();
    Refusal::flat(format!(
        "git remembers the conflict in {file} (MERGE_RR) and would follow a link there, wherever it leads"
    ))
}

fn unknown(tree: &Path) -> Refusal {
    Refusal::flat(format!("which conflicts git remembers in {} (MERGE_RR) cannot be told", tree.display()))
}
