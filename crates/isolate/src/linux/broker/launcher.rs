//! The launcher's side of the broker.

use super::channel::{self, Room, Said, Told};
use super::process::{self, Inheritance};
use crate::CreateError;
use crate::linux::sys::{self, Forked};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socketpair};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stockade_policy::Plan;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A running broker. Dropping it ends it.
pub(crate) struct BrokerHandle {
    channel: AsyncFd<OwnedFd>,
    pidfd: OwnedFd,
    hearing: Mutex<Room>,
}

/// What became of what a broker said.
pub(crate) enum Spoken {
    HandedOn,
    /// It could not take its place.
    Failed {
        errno: i32,
    },
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
        Ok(Self { channel, pidfd, hearing: Mutex::default() })
    }

    /// Waits until the broker says something, and hands it on; nothing once it is gone. That it failed is
    /// given back: nothing else is heard after that.
    pub(crate) async fn listen(&self, each: impl Fn(Said)) -> Option<Spoken> {
        let heard = self.channel.async_io(Interest::READABLE, |socket| {
            let mut room = self.one_at_a_time();
            let said = channel::receive(socket, &mut room, RecvFlags::DONTWAIT)?;
            Ok(said.map(|(said, _)| match said {
                Said::Failed { errno, .. } => Spoken::Failed { errno },
                said => {
                    each(said);
                    Spoken::HandedOn
                }
            }))
        });
        heard.await.ok().flatten()
    }

    /// Hands on what the broker has said already. When this returns nothing of it is on its way any more, on
    /// another thread neither. A failure is left to whoever finds the broker gone.
    pub(crate) fn hear_out(&self, each: impl Fn(Said)) {
        let mut room = self.one_at_a_time();
        let socket = self.channel.get_ref();
        while let Ok(Some((said, _))) = channel::receive(socket, &mut room, RecvFlags::DONTWAIT) {
            each(said);
        }
    }

    /// Taking something off the socket and handing it on is one step.
    fn one_at_a_time(&self) -> MutexGuard<'_, Room> {
        self.hearing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a broker that is gone went because nobody was left who needed it.
    pub(crate) fn ended_well(&self) -> bool {
        sys::ended_well(self.pidfd.as_fd())
    }

    /// Waits until it has ended, and reaps it.
    pub(crate) async fn ended(&self) {
        // Where that cannot be waited for, whoever lets go of it last blocks for it.
        let Ok(watched) = self.pidfd.try_clone().and_then(sys::watch) else { return };
        if watched.readable().await.is_ok() {
            let _ = sys::reap_pidfd(self.pidfd.as_fd());
        }
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
