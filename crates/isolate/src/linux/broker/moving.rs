//! Renaming and linking: names that come to stand for something that exists.

use super::act::Answer;
use super::call::{Follow, PathArgument};
use super::deeds::Deed;
use super::naming::stands_already;
use super::opening::kind_of;
use super::resolve::{Led, Place, plain};
use super::trial::{REFUSED, Trial, told};
use super::work_trees::Arriving;
use rustix::fd::AsRawFd;
use rustix::fs::{AtFlags, FileType, RenameFlags, fstat, linkat, renameat_with, statat};
use rustix::io::Errno;
use std::ffi::CString;
use std::path::Path;
use stockade_policy::{Check, Judgement, Naming, Refusal, Switch, ViolationKind};

impl Trial<'_> {
    pub(super) fn rename(
        mut self,
        from: PathArgument,
        to: PathArgument,
        flags: u32,
    ) -> Result<Answer, Errno> {
        let flags = RenameFlags::from_bits(flags).ok_or(Errno::INVAL)?;
        // It would leave a device.
        if flags.contains(RenameFlags::WHITEOUT) {
            return Err(Errno::PERM);
        }
        let _changes = self.caller.broker.changes();
        let (old, new) = (self.caller.place(from)?, self.caller.place(to)?);
        let (old_path, new_path) = (old.full(), new.full());
        let exchange = flags.contains(RenameFlags::EXCHANGE);
        let (moved, replaced) = (kind_of(&old), kind_of(&new));
        // A directory takes everything below it along, secrets and our own records included; a link leads elsewhere.
        let is_more =
            |kind: &Result<FileType, Errno>| matches!(kind, Ok(FileType::Directory | FileType::Symlink));
        if is_more(&moved) || is_more(&replaced) {
            self.ask_nothing();
        }
        let judged = self
            .judge_change(ViolationKind::Rename, &old)
            .and_then(|()| self.judge_carried(&old_path))
            .and_then(|()| if exchange { self.judge_carried(&new_path) } else { Ok(()) })
            .and_then(|()| self.judge_socket(&old))
            .and_then(|()| self.judge_replaced(&new))
            .and_then(|()| self.judge_moved(&old, &new_path, &new))
            .and_then(|check| {
                if !exchange {
                    return Ok(check);
                }
                self.judge_socket(&new)?;
                self.judge_moved(&new, &old_path, &old).map(|_| check)
            });
        let check = match judged {
            Ok(check) => check,
            Err(answer) => return Ok(answer),
        };
        if let Some((check, refusal)) = check {
            if exchange {
                self.record(ViolationKind::Rename, told(&new_path), &refusal);
                return Err(REFUSED);
            }
            return self.install_moved(check, refusal, &old, &new);
        }
        let subjects = || {
            let there = match replaced {
                Ok(_) if exchange => ViolationKind::Rename,
                Ok(_) => ViolationKind::Write,
                Err(_) => ViolationKind::Create,
            };
            vec![(ViolationKind::Rename, old_path.clone()), (there, new_path.clone())]
        };
        let deed = |_| Deed::Rename {
            from: old_path.as_path().into(),
            to: new_path.as_path().into(),
            flags: flags.bits(),
        };
        Ok(self.finish(subjects, Some(&deed), || {
            renameat_with(&old.directory, &old.name, &new.directory, &new.name, flags)?;
            Ok(Answer::DONE)
        }))
    }

    pub(super) fn link(mut self, from: PathArgument, to: PathArgument, flags: i32) -> Result<Answer, Errno> {
        let _changes = self.caller.broker.changes();
        let new = self.caller.place(to)?;
        if flags & !(libc::AT_EMPTY_PATH | libc::AT_SYMLINK_FOLLOW) != 0 {
            return Err(Errno::INVAL);
        }
        let source = self.link_source(from, flags)?;
        let new_path = new.full();
        let kind = match &source {
            Source::Place(old) => kind_of(old)?,
            Source::Descriptor(file) => FileType::from_raw_mode(fstat(file)?.st_mode),
        };
        let naming = match kind {
            FileType::Symlink => Naming::Symlink,
            FileType::RegularFile | FileType::Directory => Naming::Moved,
            _ => Naming::Special,
        };
        // A file that commands may write would stay one of theirs under the name that somebody allowed.
        let is_theirs = |old: &Place| self.is_free(&old.full(), ViolationKind::Write);
        let is_shared = matches!(&source, Source::Place(old) if is_theirs(old));
        if naming == Naming::Symlink || (is_shared && !self.is_free(&new_path, ViolationKind::Create)) {
            self.ask_nothing();
        }
        if let Err(answer) = stands_already(&new) {
            return Ok(answer);
        }
        match self.hear(ViolationKind::Create, &new_path, self.caller.broker.judge.name(&new_path, naming)) {
            Err(answer) => return Ok(answer),
            Ok(None) => {}
            Ok(Some((Check::BareRepository, refusal))) => {
                if let Err(answer) = self.judge_repository(ViolationKind::Create, &new, refusal) {
                    return Ok(answer);
                }
            }
            // Libraries try this before they rename, as on file systems without second names.
            Ok(Some((Check::GitIndex, _))) => return Err(Errno::PERM),
            // A second name for a file that somebody can still write to.
            Ok(Some((_, refusal))) => {
                if let Err(answer) = self.refuse(ViolationKind::Create, &new_path, refusal, REFUSED) {
                    return Ok(answer);
                }
            }
        }
        if naming == Naming::Symlink
            && let Err(answer) = self.judge_work_trees(Arriving::Link, &new)
        {
            return Ok(answer);
        }
        let old_path = match &source {
            Source::Place(old) => Some(old.full()),
            Source::Descriptor(_) => None,
        };
        let known_as = match &source {
            Source::Place(old) => Some(old.full()),
            Source::Descriptor(file) => {
                let broker = self.caller.broker;
                let shown = self.caller.path_of(file).ok();
                if let Some(shown) = &shown {
                    broker.standing.check(file, shown, &broker.proc)?;
                }
                shown
            }
        };
        if let Some(old) = &known_as
            && let Err(answer) = self.judge_second_name(old, &source)
        {
            return Ok(answer);
        }
        let named = old_path.clone().unwrap_or_default();
        let link = |_| Deed::Link { from: named.as_path().into(), to: new_path.as_path().into() };
        let deed: Option<&dyn Fn(u32) -> Deed> = if old_path.is_some() { Some(&link) } else { None };
        let subjects = || match &old_path {
            // The launcher must see the same file.
            Some(old) => vec![(ViolationKind::Create, new_path.clone()), (ViolationKind::Read, old.clone())],
            None => vec![(ViolationKind::Create, new_path.clone())],
        };
        let broker = self.caller.broker;
        Ok(self.finish(subjects, deed, || {
            match &source {
                Source::Place(old) => {
                    linkat(&old.directory, &old.name, &new.directory, &new.name, AtFlags::empty())?;
                }
                Source::Descriptor(file) => {
                    let number = CString::new(file.as_raw_fd().to_string()).map_err(|_| Errno::INVAL)?;
                    let ours = &broker.own_descriptors;
                    linkat(ours, number, &new.directory, &new.name, AtFlags::SYMLINK_FOLLOW)?;
                }
            }
            Ok(Answer::DONE)
        }))
    }

    /// Whether commands may do this to a path without anybody's leave.
    fn is_free(&self, path: &Path, kind: ViolationKind) -> bool {
        self.caller.broker.judge.why_not(path, kind).is_none()
    }

    /// What may not be read is not carried to where it may be.
    fn judge_carried(&mut self, path: &Path) -> Result<(), Answer> {
        match self.hidden(path).filter(|_| self.asks()) {
            Some(refusal) => self.refuse(ViolationKind::Read, path, refusal, REFUSED),
            None => Ok(()),
        }
    }

    /// A second name is a second way to read a file, and to change one whose content is checked.
    fn judge_second_name(&mut self, old: &Path, source: &Source) -> Result<(), Answer> {
        if let Some(refusal) = self.hidden(old) {
            self.refuse(ViolationKind::Read, old, refusal, Errno::XDEV)?;
        }
        // And a way to write it, once the new name may be written.
        if self.asks()
            && let Some(refusal) = self.caller.broker.judge.why_not(old, ViolationKind::Write)
        {
            self.refuse(ViolationKind::Write, old, refusal, Errno::XDEV)?;
        }
        if let Judgement::Refused(refusal) | Judgement::Check(_, refusal) =
            self.caller.broker.judge.change(old)
        {
            self.refuse(ViolationKind::Write, old, refusal, Errno::XDEV)?;
        }
        match source {
            Source::Place(place) => self.judge_socket(place),
            Source::Descriptor(_) => Ok(()),
        }
    }

    /// A socket of the host's stays where the host put it: elsewhere another rule might open it.
    fn judge_socket(&mut self, place: &Place) -> Result<(), Answer> {
        let found = statat(&place.directory, plain(&place.name), AtFlags::SYMLINK_NOFOLLOW);
        match found {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Socket => {
                if self.caller.broker.is_bound_inside(&found) {
                    return Ok(());
                }
                let refusal = Refusal {
                    rule: None,
                    reason: "a socket of the host's is neither moved nor given another name".into(),
                    suggestion: None,
                    grantable: Switch::Refused,
                };
                self.refuse(ViolationKind::Unix, &place.full(), refusal, REFUSED)
            }
            _ => Ok(()),
        }
    }

    fn link_source(&self, from: PathArgument, flags: i32) -> Result<Source, Errno> {
        let follow = if flags & libc::AT_SYMLINK_FOLLOW != 0 { Follow::Yes } else { Follow::No };
        let text = self.caller.path(from.address)?;
        if text.is_empty() {
            return match flags & libc::AT_EMPTY_PATH {
                0 => Err(Errno::NOENT),
                _ => self.caller.descriptor(from.directory).map(Source::Descriptor),
            };
        }
        match self.caller.lead(from, follow)? {
            Led::To(place) => Ok(Source::Place(place)),
            // The usual way to name an unnamed file.
            Led::IntoProc(rest) => {
                let number = super::opening::own_descriptor(&rest).ok_or(Errno::ACCESS)?;
                self.caller.descriptor(number).map(Source::Descriptor)
            }
        }
    }

    /// What stands at the new name goes away.
    fn judge_replaced(&mut self, new: &Place) -> Result<(), Answer> {
        match kind_of(new) {
            Ok(_) => self.judge_change(ViolationKind::Rename, new),
            Err(_) => Ok(()),
        }
    }

    /// Judges what stands at a place under the name it is about to get.
    fn judge_moved(
        &mut self,
        what: &Place,
        to: &Path,
        new: &Place,
    ) -> Result<Option<(Check, Refusal)>, Answer> {
        let Ok(kind) = kind_of(what) else { return Ok(None) };
        let naming = match kind {
            FileType::Directory => Naming::MovedDirectory,
            FileType::Symlink => Naming::Symlink,
            FileType::RegularFile => Naming::Moved,
            _ => Naming::Special,
        };
        let judgement = self.caller.broker.judge.name(to, naming);
        let check = match self.hear(ViolationKind::Create, to, judgement)? {
            Some((Check::BareRepository, refusal)) => {
                self.judge_repository(ViolationKind::Create, new, refusal)?;
                None
            }
            other => other,
        };
        match kind {
            FileType::Directory => {
                self.search_moved(what, to)?;
                self.judge_work_trees(Arriving::Directory(what), new)?;
            }
            FileType::Symlink => self.judge_work_trees(Arriving::Link, new)?,
            _ => {}
        }
        Ok(check)
    }
}

enum Source {
    Place(Place),
    Descriptor(rustix::fd::OwnedFd),
}
