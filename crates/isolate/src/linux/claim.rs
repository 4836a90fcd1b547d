//! Layers of changes, each for one sandbox at a time.

use crate::CreateError;
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;
use std::time::{Duration, Instant};
use stockade_policy::{MountKind, Plan};

/// How long a sandbox that is just ending is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Claims every overlay of a plan until the descriptors are closed: the kernel lets two mounts share their
/// changes, and says that what comes of it is undefined.
pub(crate) async fn overlays(plan: &Plan) -> Result<Vec<OwnedFd>, CreateError> {
    let mut claims = Vec::new();
    for mount in &plan.mounts {
        let MountKind::Overlay { directory, .. } = &mount.kind else { continue };
        let claimed = claim(directory).await.map_err(|errno| CreateError::OverlayInUse {
            directory: directory.clone(),
            source: errno.into(),
        });
        claims.push(claimed?);
    }
    Ok(claims)
}

/// Waits without holding the thread up: what lets go of the claim may have to run on it.
async fn claim(directory: &Path) -> Result<OwnedFd, Errno> {
    const PAUSE: Duration = Duration::from_millis(2);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty())?;
    let begun = Instant::now();
    loop {
        match rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if begun.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
            Err(Errno::INTR) => {}
            done => return done.map(|()| opened),
        }
    }
}
