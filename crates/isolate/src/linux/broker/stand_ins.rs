//! Files that commands see stand-ins of.
//!
//! The stand-in is mounted over the file, and goes with it when the host saves a new one under that name. So
//! nothing is left to the walls here: what is handed over was looked at after it was opened.

use super::act::Answer;
use super::call::{Follow, PathArgument};
use super::opening::{Wish, handed, kind_of, open_without_waiting};
use super::resolve::{Led, Place, plain};
use super::standing::MOVED;
use super::trial::{REFUSED, Trial};
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, makedev, statx};
use rustix::io::Errno;
use std::ffi::CStr;
use stockade_policy::{Judgement, Refusal, ViolationKind};

impl Trial<'_> {
    /// Opens a stand-in for reading; anything else under its name is refused.
    pub(super) fn open_stand_in(
        mut self,
        place: &Place,
        wish: Wish,
        device: Option<u64>,
        refusal: Refusal,
    ) -> Result<Answer, Errno> {
        let file = open_without_waiting(place, wish)?;
        if is_laid(&file, c"", device) {
            return Ok(handed(file, wish));
        }
        drop(file);
        Ok(self.refuse_the_file(place, refusal))
    }

    /// A descriptor that only names what it stands for, and leads there through /proc all the same.
    pub(super) fn name_only(mut self, path: PathArgument, wish: Wish) -> Result<Answer, Errno> {
        let follow = if wish.follows() { Follow::Yes } else { Follow::No };
        let place = match self.caller.lead_to_read(path, follow) {
            Ok(Led::To(place)) => place,
            Err(errno @ (MOVED | Errno::FAULT | Errno::ACCESS)) => return Err(errno),
            _ => return Ok(Answer::GoOn),
        };
        let judge = &self.caller.broker.judge;
        match judge.must_be_stand_in(&place.full()) {
            Some((rule, refusal)) if !is_laid(&place.directory, &plain(&place.name), rule.device) => {
                Ok(self.refuse_the_file(&place, refusal))
            }
            // What the walls hide, they hide here, too; what only its name makes a secret, they do not know of.
            _ => match judge.read(&place.full()) {
                // The kernel would look again.
                Judgement::Refused(_) if kind_of(&place) == Err(Errno::NOENT) => Err(Errno::NOENT),
                Judgement::Refused(refusal) if kind_of(&place).is_ok() => {
                    Ok(self.refuse_the_file(&place, refusal))
                }
                _ => Ok(Answer::GoOn),
            },
        }
    }

    fn refuse_the_file(&mut self, place: &Place, refusal: Refusal) -> Answer {
        match self.refuse(ViolationKind::Read, &place.full(), refusal, Errno::ACCESS) {
            Err(answer) => answer,
            Ok(()) => Answer::Refused(REFUSED),
        }
    }
}

/// Whether this is the top of a mount, as a stand-in is and a file saved there is not, and not of the device
/// that the secret is on. What cannot be looked at is neither.
fn is_laid(at: impl AsFd, name: &CStr, device: Option<u64>) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    let Ok(found) = statx(at, name, flags, StatxFlags::TYPE) else { return false };
    found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
        && device != Some(makedev(found.stx_dev_major, found.stx_dev_minor))
}
