//! The sandbox's first process: builds the walls, then starts and reaps commands.
//!
//! It is a copy of the launcher, so it must not allocate, lock or panic (see `sys`). It is never
//! executed anew: an exec would cost a millisecond and need a program file inside. It cannot be traced or
//! dumped, holds no capability once the walls stand, and ends, with everything inside, when the launcher
//! is gone.

mod command;
mod contents;
mod devices;
mod doors;
mod overlay;
mod serve;
mod staging;
mod walls;

use super::script::Script;
use super::seccomp::Filter;
use super::sys;
use super::wire::{Order, PACKET, Report, Step};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::{Errno, IoSlice};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Resource, Rlimit};
use std::mem::MaybeUninit;

/// Which step failed, on which mount of the script.
pub(super) struct Failure {
    step: Step,
    index: u32,
    errno: Errno,
}

type Built<T = ()> = Result<T, Failure>;

/// Names the step a system call belongs to.
trait During<T> {
    fn during(self, step: Step) -> Built<T>;
    fn during_mount(self, step: Step, index: usize) -> Built<T>;
}

impl<T> During<T> for Result<T, Errno> {
    fn during(self, step: Step) -> Built<T> {
        self.during_mount(step, usize::MAX)
    }

    fn during_mount(self, step: Step, index: usize) -> Built<T> {
        self.map_err(|errno| Failure { step, index: index as u32, errno })
    }
}

/// Memory the first process works with, made by the launcher before the clone.
pub(super) struct Workspace {
    /// The stack commands run on between clone and exec.
    pub(super) stack: Vec<u8>,
    /// What is taken of the host's files, one for each mount of the script.
    trees: Vec<Option<OwnedFd>>,
    pub(super) loopback: Loopback,
}

/// The loopback of the sandbox's own network.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Loopback {
    /// It is to be set up.
    Down,
    /// Somebody has done so already.
    Up,
}

impl Workspace {
    pub(super) fn new(script: &Script) -> Self {
        const STACK: usize = 64 * 1024;
        let trees = script.steps.iter().map(|_| None).collect();
        Self { stack: vec![0; STACK], trees, loopback: Loopback::Down }
    }
}

/// The life of the first process.
pub(super) fn run(
    script: &Script,
    workspace: &mut Workspace,
    control: BorrowedFd<'_>,
    to_broker: BorrowedFd<'_>,
) -> ! {
    sys::block_all_signals();
    sys::forget_handlers();
    // Everything the launcher had open goes, its end of the socket included: only then does its death show.
    let Ok([control, to_broker]) = sys::close_all_but([control, to_broker]) else { sys::exit_now(1) };
    // Failure to name the process costs nothing but a nicer `ps`.
    let _ = rustix::thread::set_name(c"stockade-init");
    let mut to_broker = Some(to_broker);
    let result = build(script, workspace, &control).and_then(|unmasked| {
        // An order that already waits is answered in a moment, which says as much.
        if !serve::order_waits(&control) {
            report(&control, Report::Ready);
        }
        if let Some(to_broker) = &to_broker {
            seal(script, to_broker, unmasked)?;
        }
        to_broker = None;
        serve::serve(script, workspace, &control)
    });
    if let Err(Failure { step, index, errno }) = result {
        report(&control, Report::Failed { step, index, errno: errno.raw_os_error() });
    }
    sys::exit_now(1)
}

fn build(script: &Script, workspace: &mut Workspace, control: &OwnedFd) -> Built<Option<OwnedFd>> {
    doors::build(script, workspace.loopback, control)?;
    let usual = raise_descriptor_limit();
    let unmasked = walls::build(script, &mut workspace.trees, || wait_for_go(control))?;
    rustix::process::setrlimit(Resource::Nofile, usual).during(Step::Serve)?;
    Ok(unmasked)
}

/// Every mount of the host's is held by a descriptor until it is laid. Returns the limit to go back to.
fn raise_descriptor_limit() -> Rlimit {
    let usual = rustix::process::getrlimit(Resource::Nofile);
    // Without it there is room for about a thousand, and one more is refused by its name.
    let _ = rustix::process::setrlimit(
        Resource::Nofile,
        Rlimit { current: usual.maximum, maximum: usual.maximum },
    );
    usual
}

/// The walls that hold the first process too, and that every command inherits. Put up while the launcher
/// is still hearing that the mounts stand: it takes as long to wake up as these take to build.
fn seal(script: &Script, to_broker: &OwnedFd, unmasked: Option<OwnedFd>) -> Built {
    sys::shed_privileges().during(Step::Privileges)?;
    // 1, not 0: a handler that core_pattern pipes to is started even for 0, but not for 1. The filter keeps
    // it there.
    command::lower(Resource::Core, 1).during(Step::Privileges)?;
    match &script.filter {
        Filter::Refuses(program) => sys::install_filter(program).during(Step::Seccomp),
        Filter::Holds(program) => {
            let listener = match sys::install_listener(program) {
                // It knows filters, but none that wait for somebody, or there is one already.
                Err(errno @ (Errno::INVAL | Errno::BUSY)) => return Err(errno).during(Step::Broker),
                other => other.during(Step::Seccomp)?,
            };
            // Whoever enters our namespaces from outside comes to the root they began with.
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let root = sys::open_past_broker(c"/", flags, script.cookie).during(Step::Broker)?;
            hand_over(to_broker, &listener, &root, unmasked.as_ref()).during(Step::Broker)
        }
    }
}

/// Gives the launcher, for a broker, the end that answers held calls, our root, and the host's files without masks; ours
/// are closed on return, so that no held call waits for a broker that is gone.
fn hand_over(
    to_broker: &OwnedFd,
    listener: &OwnedFd,
    root: &OwnedFd,
    unmasked: Option<&OwnedFd>,
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let carried = [listener.as_fd(), root.as_fd(), unmasked.unwrap_or(listener).as_fd()];
    let count = if unmasked.is_some() { 3 } else { 2 };
    ancillary.push(SendAncillaryMessage::ScmRights(&carried[..count]));
    sendmsg(to_broker, &[IoSlice::new(&[1])], &mut ancillary, SendFlags::NOSIGNAL).map(drop)
}

/// Waits until the launcher has written the id maps. Its death ends us here.
fn wait_for_go(control: &OwnedFd) -> Result<(), Errno> {
    let mut packet = [0; PACKET];
    loop {
        match rustix::net::recv(control, &mut packet, RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
            Ok((PACKET, _)) if Order::decode(&packet) == Some(Order::Go) => return Ok(()),
            Ok(_) => sys::exit_now(1),
        }
    }
}

/// Tells the launcher. If it is gone there is nobody to tell, and the next read ends us.
fn report(control: impl AsFd, report: Report) {
    let _ = rustix::net::send(control, &report.encode(), SendFlags::NOSIGNAL);
}
