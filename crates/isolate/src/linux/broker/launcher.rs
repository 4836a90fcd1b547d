//! The launcher's side of the broker.

use super::channel::{self, Room, Said, Told};
use super::process::{self, Inheritance};
use crate::CreateError;
use crate::linux::sys::{self, Forked, Namespaces};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, IoSliceMut};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags, SocketType,
    recvmsg, socketpair,
};
use std::io;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stockade_policy::{HeldReads, Judge, Plan};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The broker of a sandbox. It is started when the first call is held: a command that only reads never needs one. Where
/// reads are held every command does, and it is started as soon as it can be. Dropping it ends it.
pub(crate) struct BrokerHandle {
    plan: Arc<Plan>,
    /// The first process.
    init: OwnedFd,
    /// For the broker to enter. Whoever holds them last takes the mounts apart.
    namespaces: Mutex<Option<Namespaces>>,
    /// The first process's end sends what a broker needs.
    from_init: AsyncFd<OwnedFd>,
    stage: Mutex<Stage>,
    hearing: Mutex<Room>,
    /// The rules as a broker reads them, where every command needs one at once.
    judge: Mutex<Option<Judge>>,
}

/// How far a broker's life has come.
enum Stage {
    /// The first process has handed over nothing yet. What is to be told about the network waits.
    Expected(Option<Untold>),
    /// No call was held yet.
    Ready(Arc<Handed>, Option<Untold>),
    Serving(Arc<Serving>),
    /// There was nobody whose calls could have been held, or it could not be started.
    Never,
}

/// Something for a broker that is not there yet.
type Untold = (Told, OwnedFd);

/// What the first process hands over.
struct Handed {
    /// The end that answers held calls.
    listener: AsyncFd<OwnedFd>,
    /// The sandbox's root.
    root: OwnedFd,
    /// The host's files without masks, where somebody can be asked.
    unmasked: Option<OwnedFd>,
}

/// A broker's process.
struct Serving {
    channel: AsyncFd<OwnedFd>,
    pidfd: OwnedFd,
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
    /// Makes ready for a broker of the sandbox whose first process this is.
    pub(crate) fn new(
        plan: &Arc<Plan>,
        init: BorrowedFd<'_>,
        namespaces: Namespaces,
        from_init: OwnedFd,
    ) -> Result<Self, CreateError> {
        let init = init.try_clone_to_owned().map_err(|source| step("watch the first process", source))?;
        let from_init =
            sys::watch_reading(from_init).map_err(|source| step("watch the first process", source))?;
        Ok(Self {
            plan: Arc::clone(plan),
            init,
            namespaces: Mutex::new(Some(namespaces)),
            from_init,
            stage: Mutex::new(Stage::Expected(None)),
            hearing: Mutex::default(),
            judge: Mutex::default(),
        })
    }

    /// Waits until the broker says something, and hands it on; nothing once it is gone. That it failed is
    /// given back: nothing else is heard after that.
    pub(crate) async fn listen(&self, each: impl Fn(Said)) -> Option<Spoken> {
        let serving = match self.serving().await? {
            Ok(serving) => serving,
            Err(errno) => return Some(Spoken::Failed { errno: errno.raw_os_error() }),
        };
        let heard = serving.channel.async_io(Interest::READABLE, |socket| {
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

    /// The broker, once there is one: waits until it is needed, and starts it. Nothing if it never will be.
    async fn serving(&self) -> Option<Result<Arc<Serving>, Errno>> {
        loop {
            let handed = match &*self.stage() {
                Stage::Serving(serving) => return Some(Ok(Arc::clone(serving))),
                Stage::Never => return None,
                Stage::Ready(handed, _) => Some(Arc::clone(handed)),
                Stage::Expected(_) => None,
            };
            let Some(handed) = handed else {
                if self.needed_at_once() {
                    // There is nothing else to do while the walls are built.
                    self.judge().get_or_insert_with(|| Judge::new(&self.plan));
                }
                self.expect().await;
                continue;
            };
            if self.needed_at_once() {
                return self.start(&handed);
            }
            match need(&handed.listener).await {
                Need::Now => return self.start(&handed),
                Need::Never => *self.stage() = Stage::Never,
            }
        }
    }

    /// Whether every command makes calls that are held.
    fn needed_at_once(&self) -> bool {
        self.plan.broker.as_ref().is_some_and(|broker| broker.reads == HeldReads::All)
    }

    fn judge(&self) -> MutexGuard<'_, Option<Judge>> {
        self.judge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the first process hands over.
    async fn expect(&self) {
        let handed =
            self.from_init.async_io(Interest::READABLE, |socket| Ok(receive_listener(socket)?)).await;
        let mut stage = self.stage();
        let untold = match &mut *stage {
            Stage::Expected(untold) => untold.take(),
            _ => None,
        };
        *stage = match handed {
            Ok(Some(handed)) => Stage::Ready(Arc::new(handed), untold),
            // It never came so far, and says why itself.
            _ => Stage::Never,
        };
    }

    /// Starts the broker's process; nothing where everything is about to end.
    fn start(&self, handed: &Handed) -> Option<Result<Arc<Serving>, Errno>> {
        let mut stage = self.stage();
        let namespaces = self.namespaces().take()?;
        let Stage::Ready(_, untold) = std::mem::replace(&mut *stage, Stage::Never) else { return None };
        let started = self.fork(handed, &namespaces).and_then(|serving| {
            if let Some((told, file)) = untold {
                // A new channel has room.
                channel::send(serving.channel.get_ref(), &told, Some(file.as_fd()), SendFlags::DONTWAIT)?;
            }
            Ok(Arc::new(serving))
        });
        if let Ok(serving) = &started {
            *stage = Stage::Serving(Arc::clone(serving));
        }
        // It has a copy.
        drop(self.judge().take());
        Some(started)
    }

    /// Lets go of what a broker would need that was never needed: everything inside is about to end. The first process
    /// then takes the mounts apart as it goes, all at once; its /proc would lose them one by one.
    pub(crate) fn retire(&self) {
        let namespaces = self.namespaces().take();
        drop(namespaces);
    }

    fn fork(&self, handed: &Handed, namespaces: &Namespaces) -> Result<Serving, Errno> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let pidfd = match sys::fork_broker()? {
            Forked::Launcher { pidfd } => pidfd,
            Forked::Broker => self.become_broker(handed, namespaces, theirs.as_fd()),
        };
        rustix::io::ioctl_fionbio(&ours, true)?;
        let channel = sys::watch(ours).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        Ok(Serving { channel, pidfd })
    }

    /// In the copy: lets go of everything that is the launcher's, and serves.
    fn become_broker(&self, handed: &Handed, namespaces: &Namespaces, channel: BorrowedFd<'_>) -> ! {
        sys::block_all_signals();
        let Namespaces { user, mount } = namespaces;
        let (listener, root) = (handed.listener.get_ref().as_fd(), handed.root.as_fd());
        let unmasked = handed.unmasked.as_ref().map(AsFd::as_fd);
        let kept = [
            self.init.as_fd(),
            user.as_fd(),
            mount.as_fd(),
            channel,
            listener,
            root,
            // A number twice is kept once, and given away below.
            unmasked.unwrap_or(root),
        ];
        let Ok([init, user, mount, channel, listener, root, last]) = sys::close_all_but(kept) else {
            sys::exit_now(1)
        };
        let unmasked = match unmasked {
            Some(_) => Some(last),
            None => {
                std::mem::forget(last);
                None
            }
        };
        let namespaces = Namespaces { user, mount };
        process::run(Inheritance {
            judge: self.judge().take().unwrap_or_else(|| Judge::new(&self.plan)),
            plan: Arc::clone(&self.plan),
            init,
            namespaces,
            channel,
            listener,
            root,
            unmasked,
        })
    }

    /// Hands on what the broker has said already. When this returns nothing of it is on its way any more, on
    /// another thread neither. A failure is left to whoever finds the broker gone.
    pub(crate) fn hear_out(&self, each: impl Fn(Said)) {
        let Some(serving) = self.now_serving() else { return };
        let mut room = self.one_at_a_time();
        let socket = serving.channel.get_ref();
        while let Ok(Some((said, _))) = channel::receive(socket, &mut room, RecvFlags::DONTWAIT) {
            each(said);
        }
    }

    /// Taking something off the socket and handing it on is one step.
    fn one_at_a_time(&self) -> MutexGuard<'_, Room> {
        self.hearing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn namespaces(&self) -> MutexGuard<'_, Option<Namespaces>> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_serving(&self) -> Option<Arc<Serving>> {
        match &*self.stage() {
            Stage::Serving(serving) => Some(Arc::clone(serving)),
            _ => None,
        }
    }

    /// Whether a broker that is gone went because nobody was left who needed it.
    pub(crate) fn ended_well(&self) -> bool {
        self.now_serving().is_none_or(|serving| sys::ended_well(serving.pidfd.as_fd()))
    }

    /// Waits until it has ended, and reaps it.
    pub(crate) async fn ended(&self) {
        let Some(serving) = self.now_serving() else { return };
        // Where that cannot be waited for, whoever lets go of it last blocks for it.
        let Ok(watched) = serving.pidfd.try_clone().and_then(sys::watch) else { return };
        if watched.readable().await.is_ok() {
            let _ = sys::reap_pidfd(serving.pidfd.as_fd());
        }
    }

    /// Tells the broker something, or the one that will be.
    pub(crate) fn tell(&self, told: &Told, descriptor: Option<&OwnedFd>) -> Result<(), Errno> {
        let serving = match (&mut *self.stage(), told, descriptor) {
            (Stage::Serving(serving), ..) => Arc::clone(serving),
            (Stage::Expected(untold) | Stage::Ready(_, untold), Told::Network { version }, Some(file)) => {
                let file = file.try_clone().map_err(|_| Errno::MFILE)?;
                *untold = Some((Told::Network { version: *version }, file));
                return Ok(());
            }
            _ => return Err(Errno::NOTCONN),
        };
        channel::send(serving.channel.get_ref(), told, descriptor.map(AsFd::as_fd), SendFlags::DONTWAIT)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, rustix::process::Signal::KILL);
        // An error means that somebody else of this program has waited for it.
        let _ = sys::reap_pidfd(self.pidfd.as_fd());
    }
}

/// Whether somebody has to answer.
enum Need {
    Now,
    /// Nobody is left whose calls could be held.
    Never,
}

/// Waits until a call is held.
async fn need(listener: &AsyncFd<OwnedFd>) -> Need {
    loop {
        let Ok(mut ready) = listener.readable().await else { return Need::Never };
        let mut looked = [PollFd::new(listener.get_ref(), PollFlags::IN)];
        let seen = poll(&mut looked, Some(&Timespec::default())).map(|_| looked[0].revents());
        match seen {
            Ok(seen) if seen.contains(PollFlags::IN) => return Need::Now,
            Ok(seen) if seen.contains(PollFlags::HUP) => return Need::Never,
            // Whoever called has been killed meanwhile.
            Ok(_) | Err(Errno::INTR) => ready.clear_ready(),
            Err(_) => return Need::Never,
        }
    }
}

/// Receives what the first process hands over; nothing if it is gone.
fn receive_listener(from: &OwnedFd) -> Result<Option<Handed>, Errno> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let message = recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags)?;
    if message.bytes == 0 {
        return Ok(None);
    }
    let received = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => {
            Some((descriptors.next()?, descriptors.next()?, descriptors.next()))
        }
        _ => None,
    });
    let (listener, root, unmasked) = received.ok_or(Errno::BADMSG)?;
    let listener =
        sys::watch_reading(listener).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(Some(Handed { listener, root, unmasked }))
}

fn step(act: &'static str, source: io::Error) -> CreateError {
    CreateError::Step {
        act,
        path: None,
        source,
        hint: "the system may be short of descriptors, processes or memory",
    }
}
