//! The broker's process: taking its place, and what its threads share.

use super::channel::{self, Room, Said, Told};
use super::connects::Network;
use super::deferred::Deferred;
use super::memory::Memory;
use super::questions::Questions;
use super::same_core::SameCore;
use super::standing::Standing;
use super::tally::Tally;
use super::worker;
use crate::linux::script::Caller;
use crate::linux::seccomp;
use crate::linux::sys::{self, Held, Listener, Namespaces};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stockade_policy::{Glob, GuardPlace, Judge, List, MountKind, Plan, RootView};

/// Calls that may take their time at once.
const MOST_ASIDE: usize = 512;
pub(super) const STACK: usize = 256 * 1024;
/// What a first process without anybody inside has left to do.
const LAST_MOMENTS: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// What all threads of the broker share.
pub(super) struct Broker {
    pub(super) listener: Listener,
    pub(super) judge: Judge,
    pub(super) plan: Arc<Plan>,
    /// The first process.
    pub(super) init: OwnedFd,
    /// The host's /proc, in which held threads have the numbers we are told.
    pub(super) proc: OwnedFd,
    /// /proc/self/fd, for the paths of our own descriptors.
    pub(super) own_descriptors: OwnedFd,
    /// The host's root: repositories above the workspace count, whether or not the sandbox sees them.
    pub(super) host: OwnedFd,
    /// The host's files without masks, read-only, where somebody can be asked.
    pub(super) unmasked: Option<OwnedFd>,
    /// Where everything has to be for its path to mean what the plan means by it.
    pub(super) standing: Standing,
    channel: OwnedFd,
    /// Held while something changes: a judged name is still the same when the act is done.
    changes: Mutex<Changes>,
    memory: Mutex<Memory>,
    questions: Mutex<Questions>,
    tally: Mutex<Tally>,
    /// Sockets that were bound inside.
    bound: Mutex<Vec<OwnedFd>>,
    network: Mutex<Network>,
    /// Who is kept on one core.
    pub(super) cores: Mutex<SameCore>,
    asides: AtomicUsize,
    /// Threads that answer, and those of them that wait for a call.
    pub(super) hired: AtomicUsize,
    pub(super) idle: AtomicUsize,
}

/// What changes as acts are done.
#[derive(Default)]
pub(super) struct Changes {
    /// Files that get their names when their content has been checked.
    pub(super) deferred: Vec<Deferred>,
}

/// What a new broker is given.
pub(super) struct Inheritance {
    pub(super) judge: Judge,
    pub(super) plan: Arc<Plan>,
    /// The first process.
    pub(super) init: OwnedFd,
    pub(super) namespaces: Namespaces,
    pub(super) channel: OwnedFd,
    /// The end that answers held calls.
    pub(super) listener: OwnedFd,
    /// The sandbox's root.
    pub(super) root: OwnedFd,
    /// The host's files without masks, where somebody can be asked.
    pub(super) unmasked: Option<OwnedFd>,
}

/// The life of the broker.
pub(super) fn run(given: Inheritance) -> ! {
    let channel = given.channel.as_fd().try_clone_to_owned();
    if let (Err((act, errno)), Ok(channel)) = (serve(given), channel) {
        let said = Said::Failed { act: act.to_owned(), errno: errno.raw_os_error() };
        // Without a launcher there is nobody to tell.
        let _ = channel::send(&channel, &said, None, SendFlags::empty());
    }
    sys::exit_now(1)
}

fn serve(given: Inheritance) -> Result<(), (&'static str, Errno)> {
    let at = |act: &'static str| move |errno: Errno| (act, errno);
    let _ = rustix::thread::set_name(c"stockade-broker");
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let proc = openat(CWD, c"/proc", directory, Mode::empty()).map_err(at("open /proc"))?;
    let own = openat(CWD, c"/proc/self/fd", directory, Mode::empty()).map_err(at("open /proc/self/fd"))?;
    let host = openat(CWD, c"/", directory, Mode::empty()).map_err(at("open the host's root"))?;
    given.namespaces.enter().map_err(at("enter the sandbox's namespaces"))?;
    // Its own root: the namespace's is where the host's was.
    rustix::process::fchdir(&given.root)
        .and_then(|()| rustix::process::chroot(c"."))
        .map_err(at("take the sandbox's root"))?;
    sys::keep_only_tracing().map_err(at("give up privileges"))?;
    let standing = Standing::look(&given.plan.mounts).map_err(at("find the sandbox's mounts"))?;
    let broker = Arc::new(Broker {
        listener: Listener::new(given.listener),
        judge: given.judge,
        network: Mutex::new(Network::new(&given.plan)),
        plan: given.plan,
        init: given.init,
        proc,
        own_descriptors: own,
        host,
        unmasked: given.unmasked,
        standing,
        channel: given.channel,
        changes: Mutex::default(),
        memory: Mutex::default(),
        questions: Mutex::default(),
        tally: Mutex::default(),
        bound: Mutex::default(),
        cores: Mutex::default(),
        asides: AtomicUsize::new(0),
        hired: AtomicUsize::new(0),
        idle: AtomicUsize::new(0),
    });
    worker::hire(&broker).map_err(at("start a thread"))?;
    worker::settle_in(&broker).map_err(at("start a thread"))?;
    let mut room = Room::default();
    loop {
        match channel::receive::<Told>(&broker.channel, &mut room, RecvFlags::empty()) {
            Ok(Some((told, descriptor))) => broker.hear(told, descriptor),
            // The launcher is gone, and with it everything inside.
            _ => sys::exit_now(0),
        }
    }
}

impl Broker {
    /// Ends, after the first process if that does not take long. Whoever goes last takes the sandbox's mounts
    /// apart, and a command has ended when the first process has: nobody waits for us.
    pub(super) fn leave(&self) -> ! {
        let mut ended = [PollFd::new(&self.init, PollFlags::IN)];
        let _ = poll(&mut ended, Some(&LAST_MOMENTS));
        sys::exit_now(0)
    }

    /// Tells the launcher. It reads at all times, so that this waits for a moment at most.
    pub(super) fn say(&self, said: &Said) {
        // If it is gone the main thread ends us.
        let _ = channel::send(&self.channel, said, None, SendFlags::empty());
    }

    /// Does something that may take its time in a thread of its own.
    pub(super) fn aside(self: &Arc<Self>, work: impl FnOnce(&Self) + Send + 'static) -> Result<(), Errno> {
        if self.asides.fetch_add(1, Ordering::Relaxed) >= MOST_ASIDE {
            self.asides.fetch_sub(1, Ordering::Relaxed);
            return Err(Errno::AGAIN);
        }
        let broker = Arc::clone(self);
        let body = move || {
            work(&broker);
            broker.asides.fetch_sub(1, Ordering::Relaxed);
        };
        let started = std::thread::Builder::new().name("broker-aside".into()).stack_size(STACK).spawn(body);
        started.map(drop).map_err(|_| {
            self.asides.fetch_sub(1, Ordering::Relaxed);
            Errno::AGAIN
        })
    }

    /// The name and the error of a call the system-call table refuses.
    pub(super) fn refused_by_table(&self, held: &Held) -> Option<(&'static str, u32)> {
        seccomp::refused(&self.plan.syscalls, Caller::ours(), held.number, &held.arguments)
    }

    /// Whether a path is, or lies below, a name that mandatory protection is about, wherever it is: the rules
    /// hold where commands may write, and a grant must not do what they refuse. What they check is not checked elsewhere.
    pub(super) fn is_protected(&self, path: &Path) -> bool {
        let names: Vec<&[u8]> = path.iter().skip(1).map(OsStrExt::as_bytes).collect();
        let rules = self.plan.broker.iter().flat_map(|broker| &broker.rules);
        let mut globs =
            rules.filter(|rule| matches!(rule.list, List::Protected | List::Checked)).filter_map(|rule| {
                match &rule.place {
                    GuardPlace::AtRoots { glob } | GuardPlace::AtAnyDepth { glob, .. } => {
                        Some((None, Glob::relative(glob)))
                    }
                    GuardPlace::InGitDirectory { glob } => {
                        Some((Some(b".git".as_slice()), Glob::relative(glob)))
                    }
                    _ => None,
                }
            });
        globs.any(|(below, glob)| {
            let starts =
                (0..names.len()).filter(|at| below.is_none_or(|name| *at > 0 && names[at - 1] == name));
            starts
                .into_iter()
                .any(|from| (from + 1..=names.len()).any(|to| glob.matches(names[from..to].iter().copied())))
        })
    }

    /// Whether a path means the same outside: the launcher does not see the sandbox's own file systems.
    pub(super) fn is_the_hosts(&self, path: &Path) -> bool {
        if self.is_overlaid(path) {
            return false;
        }
        let above = self.plan.mounts.iter().filter(|mount| path.starts_with(&mount.path));
        match above.max_by_key(|mount| mount.path.as_os_str().len()) {
            Some(mount) => matches!(mount.kind, MountKind::Bind { .. } | MountKind::Mask { .. }),
            None => self.plan.root != RootView::Listed,
        }
    }

    /// Whether a path lies in a directory whose changes are held back: what the launcher changed would not be.
    pub(super) fn is_overlaid(&self, path: &Path) -> bool {
        let mut above = self.plan.mounts.iter().filter(|mount| path.starts_with(&mount.path));
        above.any(|mount| matches!(mount.kind, MountKind::Overlay { .. }))
    }

    pub(super) fn changes(&self) -> MutexGuard<'_, Changes> {
        // Entries are added and removed whole, whatever became of a thread that held the lock.
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn bound(&self) -> MutexGuard<'_, Vec<OwnedFd>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
