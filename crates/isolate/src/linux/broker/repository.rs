//! The three names that make a directory a bare repository, and two sandboxes that make them together.
//!
//! Each sandbox has a broker of its own. What one sees beside a name another may change a moment later, so
//! the directory is locked from the look until the act is done.

use super::act::Answer;
use super::resolve::{Place, plain};
use super::trial::{REFUSED, Trial};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, ResolveFlags, flock, fstat, openat2, statat};
use rustix::io::Errno;
use std::time::{Duration, Instant};
use stockade_policy::{Refusal, Switch, ViolationKind};

/// Whoever holds the lock longer is no broker.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(1);

const LOCKED: &str = "another process holds a lock on the directory, so nobody can tell what git would make \
                      of it in a moment";

/// A locked directory. Closing it gives it free.
pub(super) struct Locked {
    identity: (u64, u64),
    _directory: OwnedFd,
}

impl Trial<'_> {
    /// Refuses a name that would make its directory a bare repository. Nobody else can complete one there
    /// before this call is done.
    pub(super) fn judge_repository(
        &mut self,
        kind: ViolationKind,
        place: &Place,
        refusal: Refusal,
    ) -> Result<(), Answer> {
        self.lock_repository(kind, place, &refusal)?;
        if completes_repository(place) {
            return self.refuse(kind, &place.full(), refusal, REFUSED);
        }
        Ok(())
    }

    /// Locks the directory of a name until this call is done.
    pub(super) fn lock_repository(
        &mut self,
        kind: ViolationKind,
        place: &Place,
        refusal: &Refusal,
    ) -> Result<(), Answer> {
        match self.lock(place) {
            Ok(()) => Ok(()),
            // A file system without such locks.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::BADF | Errno::INVAL) => Ok(()),
            Err(Errno::WOULDBLOCK) => {
                let refusal =
                    Refusal { reason: LOCKED.into(), grantable: Switch::Refused, ..refusal.clone() };
                self.refuse(kind, &place.full(), refusal, REFUSED)
            }
            Err(errno) => Err(Answer::Refused(errno)),
        }
    }

    fn lock(&mut self, place: &Place) -> Result<(), Errno> {
        let found = fstat(&place.directory)?;
        let identity = (found.st_dev, found.st_ino);
        // A second lock would wait for the first.
        if self.locked.iter().any(|locked| locked.identity == identity) {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat2(&place.directory, c".", flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        let until = Instant::now() + LONGEST_WAIT;
        loop {
            match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(PAUSE),
                other => break other?,
            }
        }
        self.locked.push(Locked { identity, _directory: directory });
        Ok(())
    }
}

/// Whether a name would stand beside the other two that make a directory a bare repository.
fn completes_repository(place: &Place) -> bool {
    let own = plain(&place.name);
    let beside = |name: &std::ffi::CStr| {
        name == own.as_c_str() || statat(&place.directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    };
    [c"HEAD", c"objects", c"refs"].into_iter().all(beside)
}
