//! A process beside us that makes namespaces while we still think.
//!
//! The kernel makes them in the process that asks, and the network's alone take longer than all mounts. The
//! helper shares our memory and our descriptors, so that the first process it clones in the end has
//! everything we have made by then. It runs beside a thread of ours with the same thread-local memory:
//! until we wait for it, it makes only calls that leave `errno` alone, allocates nothing and takes no lock.

use super::check;
use super::clone::clone_process;
use super::process::{exit_now, reap_pidfd};
use super::signals::with_signals_blocked;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use rustix::process::{Pid, Signal};
use rustix::thread::{CpuSet, UnshareFlags, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};

/// The first process goes on with a copy of it.
const STACK: usize = 512 * 1024;

/// What the helper says: first that its namespaces are made, then the id of the process it cloned and the
/// descriptor of that.
type Word = [i32; 2];
const MADE: i32 = 1;

/// What the first process is to do.
struct Task {
    namespaces: c_int,
    body: unsafe fn(*mut c_void) -> !,
    state: *mut c_void,
}

/// What both sides see.
struct Slot {
    launcher: Pid,
    socket: OwnedFd,
    /// The cores we may run on; what comes of the helper may, too.
    cores: Option<CpuSet>,
    namespaces: UnshareFlags,
    furnish: fn() -> Result<(), Errno>,
    /// Ours until the helper is told to go on, its own from then on.
    task: UnsafeCell<Option<Task>>,
}

/// The helper. Dropping it ends it.
pub(crate) struct Helper {
    pidfd: OwnedFd,
    socket: OwnedFd,
    slot: Box<Slot>,
    /// What it stands on.
    _stack: Vec<u8>,
}

// SAFETY: the raw pointer in the slot is there only while `clone_into` borrows what it points at.
unsafe impl Send for Helper {}

impl Helper {
    /// Starts a helper that makes namespaces and furnishes them. It dies with the thread that calls this.
    pub(crate) fn begin(namespaces: UnshareFlags, furnish: fn() -> Result<(), Errno>) -> Result<Self, Errno> {
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let launcher = rustix::process::getpid();
        let task = UnsafeCell::new(None);
        let cores = sched_getaffinity(None).ok();
        let slot = Box::new(Slot { launcher, socket: theirs, cores, namespaces, furnish, task });
        let mut stack = vec![0_u8; STACK];
        let top = stack.as_mut_ptr_range().end.map_addr(|address| address & !15);
        let mut pidfd: c_int = -1;
        let flags = libc::CLONE_VM | libc::CLONE_FILES | libc::CLONE_PIDFD;
        // Its handlers are ours, and would run twice.
        let pid = with_signals_blocked(|| {
            let slot: *const Slot = &raw const *slot;
            // SAFETY: slot and stack live in the helper's handle, which waits for its end before it lets go of
            // them; the stack is aligned by masking and nobody else's; `pidfd` outlives the call.
            let pid = unsafe { libc::clone(live, top.cast(), flags, slot.cast_mut().cast(), &raw mut pidfd) };
            check(pid.into())
        });
        let pid = pid?;
        // SAFETY: the kernel just gave us this descriptor and nobody else knows it.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        let helper = Self { pidfd, socket, slot, _stack: stack };
        send_away(pid, helper.slot.cores);
        helper.go_on()?;
        Ok(helper)
    }

    /// Lets it clone a process of ours into its namespaces and further new ones, which runs `body`; tells its id
    /// and a descriptor of it, or that nothing was cloned. After an error nobody knows. The helper has nothing
    /// left to do then, but takes a moment to end.
    pub(crate) fn clone_into<T>(
        &self,
        namespaces: c_int,
        state: &mut T,
        body: fn(&mut T) -> !,
    ) -> Result<Option<(u32, OwnedFd)>, Errno> {
        if !matches!(self.hear(), Ok([MADE, _])) {
            return Ok(None);
        }
        let mut call = Call { state, body };
        let task = Task { namespaces, body: enter::<T>, state: (&raw mut call).cast() };
        // SAFETY: the helper looks at it only after the message below.
        unsafe { *self.slot.task.get() = Some(task) };
        if self.go_on().is_err() {
            return Ok(None);
        }
        // Until it has answered we hold still: what it clones is a copy of this moment.
        let [pid, pidfd] = self.hear()?;
        // SAFETY: the kernel gave the helper, whose descriptors are ours, this one, and it told nobody else.
        Ok((pid > 0).then(|| (pid as u32, unsafe { OwnedFd::from_raw_fd(pidfd) })))
    }

    /// Lets it take its next step.
    fn go_on(&self) -> Result<(), Errno> {
        send(&self.socket, &[1], SendFlags::NOSIGNAL).map(drop)
    }

    /// The next word of the helper; an error once it is gone.
    fn hear(&self) -> Result<Word, Errno> {
        loop {
            // Its end of the socket is ours, too: only its own end shows that it is gone.
            let mut ready =
                [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&self.pidfd, PollFlags::IN)];
            match poll(&mut ready, None) {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            let mut bytes = [0; size_of::<Word>()];
            return match recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((8, _)) => {
                    let [a, b, c, d, e, f, g, h] = bytes;
                    Ok([i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h])])
                }
                Ok(_) => Err(Errno::PIPE),
                Err(Errno::AGAIN) => Err(Errno::SRCH),
                Err(error) => Err(error),
            };
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
        let _ = reap_pidfd(self.pidfd.as_fd());
    }
}

/// Moves a new process, which waits, to another core. The kernel starts it on ours, where it would take our place or
/// wait for us: either way nothing was made meanwhile.
fn send_away(pid: libc::c_long, cores: Option<CpuSet>) {
    let Some((mut others, pid)) = cores.zip(i32::try_from(pid).ok().and_then(Pid::from_raw)) else { return };
    others.unset(sched_getcpu());
    if others.count() > 0 {
        // Where that fails it runs later.
        let _ = sched_setaffinity(Some(pid), &others);
    }
}

/// A body and what it works on.
struct Call<'a, T> {
    state: &'a mut T,
    body: fn(&mut T) -> !,
}

/// SAFETY of the caller: `call` is a `Call<T>` that nobody else uses.
unsafe fn enter<T>(call: *mut c_void) -> ! {
    // SAFETY: promised by the caller.
    let call = unsafe { &mut *call.cast::<Call<'_, T>>() };
    (call.body)(call.state)
}

/// The life of the helper.
extern "C" fn live(slot: *mut c_void) -> c_int {
    // SAFETY: the slot outlives the helper, see `Helper::begin`.
    let slot = unsafe { &*slot.cast::<Slot>() };
    if die_with(slot.launcher).is_err() || await_go(slot).is_err() {
        exit_now(1);
    }
    if let Some(cores) = &slot.cores {
        let _ = sched_setaffinity(None, cores);
    }
    if make(slot).is_err() {
        exit_now(1);
    }
    say(slot.socket.as_fd(), [MADE, 0]);
    if await_go(slot).is_err() {
        exit_now(1);
    }
    // SAFETY: we were told, so that the task is ours.
    let Some(task) = (unsafe { (*slot.task.get()).take() }) else { exit_now(1) };
    // Its parent is the launcher, not we, who are gone in a moment.
    let word = match clone_process(task.namespaces | libc::CLONE_PARENT) {
        // SAFETY: this is a copy of the launcher, in which nobody but us goes on.
        Ok((0, _)) => unsafe { (task.body)(task.state) },
        Ok((pid, pidfd)) => [pid as i32, pidfd],
        Err(_) => [0, 0],
    };
    say(slot.socket.as_fd(), word);
    exit_now(0)
}

fn make(slot: &Slot) -> Result<(), Errno> {
    // SAFETY: this process has one thread and shares nothing of what is parted here.
    unsafe { rustix::thread::unshare_unsafe(slot.namespaces) }?;
    // The kernel may forget it with a change of rights.
    die_with(slot.launcher)?;
    (slot.furnish)()
}

/// Nobody else would tell us that it is gone: its end of the socket is ours, too.
fn die_with(launcher: Pid) -> Result<(), Errno> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before it could be told of.
    if rustix::process::getppid() == Some(launcher) { Ok(()) } else { Err(Errno::SRCH) }
}

fn await_go(slot: &Slot) -> Result<(), Errno> {
    let mut byte = [0];
    match recv(&slot.socket, &mut byte, RecvFlags::empty())? {
        (1, _) => Ok(()),
        _ => Err(Errno::PIPE),
    }
}

fn say(socket: BorrowedFd<'_>, word: Word) {
    let mut bytes = [0; size_of::<Word>()];
    let (first, second) = bytes.split_at_mut(4);
    first.copy_from_slice(&word[0].to_ne_bytes());
    second.copy_from_slice(&word[1].to_ne_bytes());
    let _ = send(socket, &bytes, SendFlags::NOSIGNAL);
}
