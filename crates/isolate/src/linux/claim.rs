//! Layers of changes, each for one sandbox at a time.

use crate::CreateError;
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::time::{Duration, Instant};
use stockade_policy::{MountKind, Plan};

/// How long a sandbox that is just ending is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Claims every overlay of a plan until the descriptors are closed: the kernel lets two mounts share their
/// changes, and says that what comes of it is undefined.
pub(crate) fn overlays(plan: &Plan) -> Result<Vec<OwnedFd>, CreateError> {
    let directories = plan.mounts.iter().filter_map(|mount| match &mount.kind {
        MountKind::Overlay { directory, .. } => Some(directory),
        _ => None,
    });
    let claims = directories.map(|directory| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let claimed = rustix::fs::open(directory, flags, Mode::empty())
            .and_then(|opened| claim(&opened).map(|()| opened));
        claimed
            .map_err(|errno| CreateError::OverlayInUse { directory: directory.clone(), source: errno.into() })
    });
    claims.collect()
}

fn claim(directory: &OwnedFd) -> Result<(), Errno> {
    const PAUSE: Duration = Duration::from_millis(2);
    let begun = Instant::now();
    loop {
        match rustix::fs::flock(directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if begun.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
