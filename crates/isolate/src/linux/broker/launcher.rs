//! The launcher's side of the broker.

use super::channel::{self, Said, Told};
use super::process::{self, Inheritance};
use crate::CreateError;
use crate::linux::sys::{self, Forked};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socketpair};
use std::io;
use std::sync::Arc;
use stockade_policy::Plan;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A running broker. Dropping it ends it.
pub(crate) struct BrokerHandle {
    channel: AsyncFd<OwnedFd>,
    pidfd: OwnedFd,
}

impl BrokerHandle {
    /// Starts a broker for the sandbox whose first process this is.
    pub(crate) fn start(
        plan: &Arc<Plan>,
        init: BorrowedFd<'_>,
        from_init: OwnedFd,
    ) -> Result<Self, CreateError> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|errno| step("make the broker's socket", errno.into()))?;
        let pidfd = match sys::fork_broker().map_err(|errno| step("start the broker", errno.into()))? {
            Forked::Launcher { pidfd } => pidfd,
            Forked::Broker => become_broker(plan, init, from_init.as_fd(), theirs.as_fd()),
        };
        rustix::io::ioctl_fionbio(&ours, true)
            .map_err(|errno| step("make the broker's socket", errno.into()))?;
        let channel = sys::watch(ours).map_err(|source| step("watch the broker", source))?;
        Ok(Self { channel, pidfd })
    }

    /// What the broker says next; nothing once it is gone.
    pub(crate) async fn next(&self) -> Option<Said> {
        let received = self
            .channel
            .async_io(Interest::READABLE, |socket| Ok(channel::receive(socket, RecvFlags::DONTWAIT)?));
        received.await.ok().flatten().map(|(said, _)| said)
    }

    /// What the broker has said already.
    pub(crate) fn said(&self) -> Option<Said> {
        channel::receive(self.channel.get_ref(), RecvFlags::DONTWAIT).ok().flatten().map(|(said, _)| said)
    }

    /// Whether a broker that is gone went because nobody was left who needed it.
    pub(crate) fn ended_well(&self) -> bool {
        sys::ended_well(self.pidfd.as_fd())
    }

    /// Tells the broker something.
    pub(crate) fn tell(&self, told: &Told, descriptor: Option<&OwnedFd>) -> Result<(), Errno> {
        channel::send(self.channel.get_ref(), told, descriptor.map(AsFd::as_fd), SendFlags::DONTWAIT)
    }
}

impl Drop for BrokerHandle {
    fn drop(&mut self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, rustix::process::Signal::KILL);
        // An error means that somebody else of this program has waited for it.
        let _ = sys::reap_pidfd(self.pidfd.as_fd());
    }
}

/// In the copy: lets go of everything that is the launcher's, and serves.
fn become_broker(
    plan: &Arc<Plan>,
    init: BorrowedFd<'_>,
    from_init: BorrowedFd<'_>,
    channel: BorrowedFd<'_>,
) -> ! {
    sys::block_all_signals();
    let Ok([init, from_init, channel]) = sys::close_all_but([init, from_init, channel]) else {
        sys::exit_now(1)
    };
    process::run(Inheritance { plan: Arc::clone(plan), init, channel, from_init })
}

fn step(act: &'static str, source: io::Error) -> CreateError {
    CreateError::Step {
        act,
        path: None,
        source,
        hint: "the system may be short of descriptors, processes or memory",
    }
}
