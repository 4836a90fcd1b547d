//! Looking through a directory that is about to be moved, for names that rules are about at the new place.

use super::act::Answer;
use super::caller::PLACE;
use super::resolve::Place;
use super::trial::{REFUSED, Trial};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, openat2, statat, statx,
};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use stockade_policy::{Check, Judgement, Naming, Refusal, Switch, ViolationKind};

/// More than this is not searched, and not moved.
const MOST_ENTRIES: usize = 50_000;

impl Trial<'_> {
    /// Judges everything below a directory as if it were made at the new place, and whether it would cease to be a
    /// secret there.
    pub(super) fn search_moved(&mut self, what: &Place, to: &Path) -> Result<(), Answer> {
        let from = what.full();
        let judge = &self.caller.broker.judge;
        if judge.is_git_directory(&from) && !judge.is_git_directory(to) {
            return self.refuse(ViolationKind::Rename, &from, not_a_git_directory(to), REFUSED);
        }
        // What something is mounted on is not moved: the kernel refuses it, and often nobody can look into it.
        if !judge.must_search(&from, to) || is_mount(&what.directory, &super::resolve::plain(&what.name)) {
            return Ok(());
        }
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let top = openat2(&what.directory, super::resolve::plain(&what.name), PLACE, Mode::empty(), resolve);
        let Ok(top) = top else { return Err(Answer::Refused(REFUSED)) };
        let mut pending: Vec<(OwnedFd, PathBuf, PathBuf)> = vec![(top, from.clone(), to.to_owned())];
        let mut seen = 0;
        while let Some((directory, old, path)) = pending.pop() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let readable = openat2(&directory, c".", flags, Mode::empty(), resolve).and_then(Dir::new);
            let Ok(readable) = readable else {
                // A mask comes along with what it lies on; what else cannot be looked through cannot be judged.
                match is_mount(&directory, c"") {
                    true => continue,
                    false => return Err(Answer::Refused(REFUSED)),
                }
            };
            let is_repository = self.is_repository(&directory);
            if is_repository && !self.caller.broker.judge.is_git_directory(&path) {
                self.refuse(ViolationKind::Rename, &path, not_a_git_directory(&path), REFUSED)?;
            }
            for entry in readable {
                let Ok(entry) = entry else { return Err(Answer::Refused(REFUSED)) };
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                seen += 1;
                if seen > MOST_ENTRIES {
                    return self.refuse(ViolationKind::Rename, &from, too_many(), REFUSED);
                }
                let Ok(found) = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                let [old, path] = [&old, &path].map(|above| above.join(OsStr::from_bytes(name.to_bytes())));
                self.judge_uncovered(&directory, name, &old, &path)?;
                let kind = FileType::from_raw_mode(found.st_mode);
                let naming = match kind {
                    FileType::Directory => Naming::Directory,
                    FileType::Symlink => Naming::Symlink,
                    FileType::RegularFile => Naming::Moved,
                    _ => Naming::Special,
                };
                match self.caller.broker.judge.name(&path, naming) {
                    Judgement::Free | Judgement::Check(Check::BareRepository, _) => {}
                    Judgement::Refused(refusal) | Judgement::Check(_, refusal) => {
                        self.refuse(ViolationKind::Create, &path, refusal, REFUSED)?;
                    }
                }
                if kind == FileType::Directory {
                    let below = openat2(&directory, name, PLACE, Mode::empty(), resolve);
                    let Ok(below) = below else { return Err(Answer::Refused(REFUSED)) };
                    pending.push((below, old, path));
                }
            }
        }
        Ok(())
    }

    /// Refuses to take away from a name the place that makes it a secret. What a mask lies on stays where it is: the
    /// kernel moves no mount points.
    fn judge_uncovered(
        &mut self,
        directory: &OwnedFd,
        name: &CStr,
        old: &Path,
        new: &Path,
    ) -> Result<(), Answer> {
        let judge = &self.caller.broker.judge;
        let Judgement::Refused(refusal) = judge.read(old) else { return Ok(()) };
        if matches!(judge.read(new), Judgement::Refused(_)) || is_mount(directory, name) {
            return Ok(());
        }
        self.refuse(ViolationKind::Rename, old, Refusal { grantable: Switch::Refused, ..refusal }, REFUSED)
    }

    fn is_repository(&self, directory: &OwnedFd) -> bool {
        let beside = |name: &std::ffi::CStr| statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        [c"HEAD", c"objects", c"refs"].into_iter().all(beside)
    }
}

fn is_mount(directory: &OwnedFd, name: &CStr) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    statx(directory, name, flags, StatxFlags::TYPE)
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

fn not_a_git_directory(to: &Path) -> Refusal {
    let to = to.display();
    Refusal::flat(format!("it would become a repository at {to}, where nothing protects its hooks"))
}

fn too_many() -> Refusal {
    Refusal::flat(format!(
        "it holds more than {MOST_ENTRIES} files, too many to look through for protected names"
    ))
}
