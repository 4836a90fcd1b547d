//! Files that are written first and get their names when they are closed, if their content passes.
//!
//! The caller writes into memory. The descriptor has one of a few numbers whose closing is held, so that
//! the name is there when `close` returns. Closed in any other way, the file is forgotten.

use super::act::{Answer, Handed};
use super::contents::{LARGEST, install, lock_name};
use super::opening::{Wish, kind_of, read_whole};
use super::process::Changes;
use super::resolve::{Place, plain};
use super::trial::{REFUSED, Trial, told};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, MemfdFlags, Mode, OFlags, fstat, memfd_create, openat, statat};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use stockade_policy::{Check, Refusal, ViolationKind};

/// The numbers whose closing is held; `profiles/seccomp/broker.json` names the same.
const NUMBERS: std::ops::Range<u32> = 1008..1024;

const COPIED: &str = "it was closed unchanged; what is written through another descriptor cannot be checked: \
                      write a file beside it and rename it";

/// A file on its way to a name.
pub(super) struct Deferred {
    number: u32,
    file: OwnedFd,
    place: Place,
    check: Check,
    refusal: Refusal,
    mode: Mode,
    /// What stood in it when it was opened.
    present: Vec<u8>,
    /// It is made, and closed by whoever made it: it may be empty.
    may_be_empty: bool,
}

impl Trial<'_> {
    /// Opens a file whose content is checked when it is closed.
    pub(super) fn open_deferred(
        self,
        place: Place,
        check: Check,
        refusal: Refusal,
        wish: Wish,
        changes: &mut Changes,
    ) -> Result<Answer, Errno> {
        let (mut present, mut mode, mut may_be_empty) = (Vec::new(), wish.mode, false);
        match kind_of(&place) {
            Ok(_) if wish.flags.contains(OFlags::CREATE | OFlags::EXCL) => return Err(Errno::EXIST),
            Ok(FileType::RegularFile) => {
                let found = statat(&place.directory, plain(&place.name), AtFlags::SYMLINK_NOFOLLOW)?;
                mode = Mode::from_raw_mode(found.st_mode & 0o777);
                if !wish.flags.contains(OFlags::TRUNC) {
                    present = read_whole(&place, LARGEST)?;
                }
            }
            Ok(_) => return Err(Errno::ACCESS),
            Err(Errno::NOENT) if wish.flags.contains(OFlags::CREATE) => {
                // Shells ask for neither.
                may_be_empty = wish.flags.intersects(OFlags::CLOEXEC | OFlags::EXCL);
            }
            Err(error) => return Err(error),
        }
        // Files that were never closed must not keep the numbers: the oldest makes room.
        if changes.deferred.len() >= NUMBERS.len() {
            changes.deferred.remove(0);
        }
        let taken = |number: &u32| {
            changes.deferred.iter().all(|deferred| deferred.number != *number)
                && self.caller.descriptor(*number as i32).err() == Some(Errno::BADF)
        };
        let number = NUMBERS.rev().find(taken).ok_or(Errno::MFILE)?;
        let memory = memfd_create(c"stockade", MemfdFlags::CLOEXEC)?;
        let mut writer = File::from(memory);
        writer.write_all(&present).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let file = OwnedFd::from(writer);
        let flags = (wish.flags & (OFlags::RWMODE | OFlags::APPEND | OFlags::NONBLOCK)) | OFlags::CLOEXEC;
        let theirs =
            openat(&self.caller.broker.own_descriptors, file.as_raw_fd().to_string(), flags, Mode::empty())?;
        changes.deferred.push(Deferred { number, file, place, check, refusal, mode, present, may_be_empty });
        Ok(Answer::Descriptor(Handed {
            descriptor: theirs,
            close_on_exec: wish.flags.contains(OFlags::CLOEXEC),
            at: Some(number),
        }))
    }

    /// A descriptor with one of the numbers is closed.
    pub(super) fn close(mut self, number: i32) -> Result<Answer, Errno> {
        let broker = self.caller.broker;
        let mut changes = broker.changes();
        let Ok(closing) = self.caller.descriptor(number) else { return Ok(Answer::GoOn) };
        let inode = |file: &OwnedFd| fstat(file).map(|found| (found.st_dev, found.st_ino)).ok();
        let is_it = |deferred: &Deferred| {
            deferred.number == number as u32 && inode(&deferred.file) == inode(&closing)
        };
        let Some(at) = changes.deferred.iter().position(is_it) else { return Ok(Answer::GoOn) };
        let Deferred { file, place, check, refusal, mode, present, may_be_empty, .. } =
            changes.deferred.remove(at);
        let length = fstat(&file)?.st_size as u64;
        if length > LARGEST {
            return Err(Errno::FBIG);
        }
        let mut content = vec![0; length as usize];
        let file = File::from(file);
        file.read_exact_at(&mut content, 0)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        if let Err(answer) = self.lock_settings(check, &place) {
            return Ok(answer);
        }
        let settled = match broker.check(check, &place, &content) {
            Ok(settled) => settled,
            Err(why) => return Ok(self.refuse_content(&place, refusal, &why)),
        };
        // A shell makes a copy of the descriptor and closes this one before anything is written. What
        // comes through the copy can no longer be checked, and must not vanish without a word.
        if content == present && !may_be_empty {
            let refusal = Refusal { reason: COPIED.into(), ..refusal };
            self.record(ViolationKind::Write, told(&place.full()), &refusal);
            return Err(REFUSED);
        }
        self.caller.wear_mask()?;
        install(broker, &place, &lock_name(&place.name), &settled, mode, false)?;
        Ok(Answer::GoOn)
    }
}
