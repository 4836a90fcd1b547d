//! Making and removing names.

use super::act::Answer;
use super::call::{Follow, PathArgument};
use super::deeds::Deed;
use super::opening::kind_of;
use super::resolve::{Led, Place};
use super::standing::MOVED;
use super::trial::{REFUSED, Trial};
use super::work_trees::Arriving;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, mkdirat, mknodat, openat2, symlinkat, unlinkat,
};
use rustix::io::Errno;
use stockade_policy::{Check, Naming, Refusal, Switch, ViolationKind};

/// A name that is taken is not made, whatever the rules say of it: the kernel answers so before it looks at any
/// wall, and nobody was refused anything.
pub(super) fn stands_already(place: &Place) -> Result<(), Answer> {
    match kind_of(place) {
        Ok(_) => Err(Answer::Refused(Errno::EXIST)),
        Err(_) => Ok(()),
    }
}

impl Trial<'_> {
    pub(super) fn make_directory(mut self, path: PathArgument, mode: u32) -> Result<Answer, Errno> {
        let _changes = self.caller.broker.changes();
        let place = self.caller.place(path)?;
        self.caller.wear_mask()?;
        let full = place.full();
        if let Err(answer) = self.judge_new(&place, Naming::Directory) {
            return Ok(answer);
        }
        let deed =
            |mask: u32| Deed::MakeDirectory { path: full.as_path().into(), mode: mode & 0o7777 & !mask };
        let subjects = || vec![(ViolationKind::Create, full.clone())];
        Ok(self.finish(subjects, Some(&deed), || {
            mkdirat(&place.directory, &place.name, Mode::from_raw_mode(mode & 0o7777))?;
            Ok(Answer::DONE)
        }))
    }

    pub(super) fn make_node(mut self, path: PathArgument, mode: u32) -> Result<Answer, Errno> {
        let kind = match mode & libc::S_IFMT {
            0 => FileType::RegularFile,
            bits => FileType::from_raw_mode(bits),
        };
        let naming = match kind {
            FileType::RegularFile => Naming::File,
            FileType::Fifo | FileType::Socket => Naming::Special,
            _ => return self.refuse_device(path),
        };
        let _changes = self.caller.broker.changes();
        let place = self.caller.place(path)?;
        self.caller.wear_mask()?;
        let full = place.full();
        if let Err(answer) = self.judge_new(&place, naming) {
            return Ok(answer);
        }
        let subjects = || vec![(ViolationKind::Create, full)];
        Ok(self.finish(subjects, None, || {
            mknodat(&place.directory, &place.name, kind, Mode::from_raw_mode(mode & 0o7777), 0)?;
            Ok(Answer::DONE)
        }))
    }

    fn refuse_device(mut self, path: PathArgument) -> Result<Answer, Errno> {
        let place = self.caller.place(path)?;
        if let Err(answer) = stands_already(&place) {
            return Ok(answer);
        }
        let refusal = Refusal {
            rule: None,
            reason: "no devices are made inside".into(),
            suggestion: None,
            grantable: Switch::Refused,
        };
        let refused = self.refuse(ViolationKind::Create, &place.full(), refusal, Errno::PERM);
        Ok(refused.err().unwrap_or(Answer::Refused(Errno::PERM)))
    }

    pub(super) fn symlink(mut self, target: u64, path: PathArgument) -> Result<Answer, Errno> {
        let target = self.caller.path(target)?;
        let _changes = self.caller.broker.changes();
        let place = self.caller.place(path)?;
        let full = place.full();
        // Where a rule leads is found out anew for each run: a link in the place of something that was allowed would
        // have the next one open what the link leads to.
        self.ask_nothing();
        let beside = !target.to_bytes().contains(&b'/') && !matches!(target.to_bytes(), b"." | b"..");
        let naming = if beside { Naming::SymlinkBeside } else { Naming::Symlink };
        let judged =
            self.judge_new(&place, naming).and_then(|()| self.judge_work_trees(Arriving::Link, &place));
        if let Err(answer) = judged {
            return Ok(answer);
        }
        let subjects = || vec![(ViolationKind::Create, full)];
        Ok(self.finish(subjects, None, || {
            symlinkat(&target, &place.directory, &place.name)?;
            Ok(Answer::DONE)
        }))
    }

    pub(super) fn unlink(mut self, path: PathArgument, flags: i32) -> Result<Answer, Errno> {
        let _changes = self.caller.broker.changes();
        let place = self.caller.place(path)?;
        // Nobody is asked about what is not there, nor told that it was refused: `rm -f` means either.
        kind_of(&place)?;
        let full = place.full();
        if let Err(answer) = self.judge_change(ViolationKind::Unlink, &place) {
            return Ok(answer);
        }
        let directory = flags & libc::AT_REMOVEDIR != 0;
        let deed = |_| {
            let path = full.as_path().into();
            if directory { Deed::RemoveDirectory { path } } else { Deed::Unlink { path } }
        };
        let subjects = || vec![(ViolationKind::Unlink, full.clone())];
        Ok(self.finish(subjects, Some(&deed), || {
            let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            unlinkat(&place.directory, &place.name, flags)?;
            Ok(Answer::DONE)
        }))
    }

    pub(super) fn truncate(mut self, path: PathArgument, length: i64) -> Result<Answer, Errno> {
        let length = u64::try_from(length).map_err(|_| Errno::INVAL)?;
        let _changes = self.caller.broker.changes();
        let Led::To(place) = self.caller.lead(path, Follow::Yes)? else { return Err(Errno::ACCESS) };
        let full = place.full();
        match self.hear(ViolationKind::Write, &full, self.caller.broker.judge.change(&full)) {
            Err(answer) => return Ok(answer),
            // Cutting a file leaves no content that could be checked.
            Ok(Some((_, refusal))) => {
                if let Err(answer) = self.refuse(ViolationKind::Write, &full, refusal, REFUSED) {
                    return Ok(answer);
                }
            }
            Ok(None) => {}
        }
        let deed = |_| Deed::Truncate { path: full.as_path().into(), length };
        let subjects = || vec![(ViolationKind::Write, full.clone())];
        Ok(self.finish(subjects, Some(&deed), || {
            let flags = OFlags::WRONLY | super::resolve::LOOK;
            let file =
                openat2(&place.directory, &place.name, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
            rustix::fs::ftruncate(&file, length)?;
            Ok(Answer::DONE)
        }))
    }

    /// The walls decide, unless what they stood on was made anew outside: what is not to be changed is refused here.
    pub(super) fn metadata(mut self, path: PathArgument, follow: Follow) -> Result<Answer, Errno> {
        let place = match self.caller.lead(path, follow) {
            Ok(Led::To(place)) => place,
            Err(errno @ (MOVED | Errno::FAULT | Errno::ACCESS)) => return Err(errno),
            _ => return Ok(Answer::GoOn),
        };
        let full = place.full();
        if kind_of(&place).is_ok()
            && let Some(refusal) = self.caller.broker.judge.why_not(&full, ViolationKind::Write)
        {
            let refusal = Refusal { grantable: Switch::Refused, ..refusal };
            let errno = self.as_a_wall_would(ViolationKind::Write, &full);
            if let Err(answer) = self.refuse(ViolationKind::Write, &full, refusal, errno) {
                return Ok(answer);
            }
        }
        Ok(Answer::GoOn)
    }

    /// Judges a name that is about to come to be.
    pub(super) fn judge_new(&mut self, place: &Place, naming: Naming) -> Result<(), Answer> {
        stands_already(place)?;
        let full = place.full();
        let judgement = self.caller.broker.judge.name(&full, naming);
        match self.hear(ViolationKind::Create, &full, judgement)? {
            None => Ok(()),
            Some((Check::BareRepository, refusal)) => {
                self.judge_repository(ViolationKind::Create, place, refusal)
            }
            // Content that has to be checked comes with no name made this way.
            Some((_, refusal)) => self.refuse(ViolationKind::Create, &full, refusal, REFUSED),
        }
    }

    /// Judges what is removed or moved away.
    pub(super) fn judge_change(&mut self, kind: ViolationKind, place: &Place) -> Result<(), Answer> {
        let full = place.full();
        match self.hear(kind, &full, self.caller.broker.judge.change(&full))? {
            // Settings that protect somebody stay; without any the file may go.
            Some((Check::GitConfig, refusal)) => {
                match self.caller.broker.check(Check::GitConfig, place, b"") {
                    Ok(_) => Ok(()),
                    Err(why) => {
                        let refusal = Refusal { reason: why.to_string(), ..refusal };
                        self.refuse(kind, &full, refusal, REFUSED)
                    }
                }
            }
            // Checks of other kinds are about new content, and there is none.
            _ => Ok(()),
        }
    }
}
