//! The first process's working life: start commands, reap whatever ends, follow the launcher.

use super::command::{Start, become_command, common_rules, reopening};
use super::{Built, During, Workspace, doors, report};
use crate::linux::script::Script;
use crate::linux::sys::{self, Exec, Ruleset};
use crate::linux::wire::{MAX_DESCRIPTORS, Order, PACKET, Report, Stage, Step};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::{Errno, IoSliceMut};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::Winsize;
use std::mem::MaybeUninit;

/// Commands that may run at once in one sandbox.
const JOBS: usize = 256;

#[derive(Clone, Copy)]
struct Job {
    id: u32,
    pid: u32,
    last: bool,
}

struct Server<'a> {
    script: &'a Script,
    workspace: &'a mut Workspace,
    control: &'a OwnedFd,
    jobs: [Option<Job>; JOBS],
    /// The rules of commands without files of their own, once there was one.
    common: Option<Ruleset>,
}

/// Serves until the launcher is gone.
pub(super) fn serve(script: &Script, workspace: &mut Workspace, control: &OwnedFd) -> Built {
    let children = sys::child_signals().during(Step::Serve)?;
    let mut server = Server { script, workspace, control, jobs: [None; JOBS], common: None };
    loop {
        let mut ready = [PollFd::new(control, PollFlags::IN), PollFd::new(&children, PollFlags::IN)];
        match poll(&mut ready, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).during(Step::Serve),
        }
        let [orders, ended] = ready.map(|descriptor| !descriptor.revents().is_empty());
        if ended {
            // One read empties the pending SIGCHLD; how many children ended is only known by asking.
            let _ = rustix::io::read(&children, &mut [0_u8; 128]);
            server.reap_all();
        }
        if orders {
            server.follow_order();
        }
    }
}

/// Whether the launcher has something to say right now.
pub(super) fn order_waits(control: &OwnedFd) -> bool {
    let mut ready = [PollFd::new(control, PollFlags::IN)];
    poll(&mut ready, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

impl Server<'_> {
    fn reap_all(&mut self) {
        while let Some(ended) = sys::reap() {
            for slot in &mut self.jobs {
                if let Some(job) = slot.take_if(|job| job.pid == ended.pid) {
                    report(
                        self.control,
                        Report::Exited {
                            id: job.id,
                            status: ended.status,
                            user_us: ended.user_us,
                            system_us: ended.system_us,
                            max_rss_kib: ended.max_rss_kib,
                        },
                    );
                    if job.last {
                        sys::exit_now(0);
                    }
                }
            }
        }
    }

    fn follow_order(&mut self) {
        let mut packet = [0; PACKET];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(
            self.control,
            &mut [IoSliceMut::new(&mut packet)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        );
        match received {
            Ok(message) if message.bytes == PACKET => {}
            Err(Errno::INTR) => return,
            // End of file: the launcher is gone, and with us goes everything inside.
            _ => sys::exit_now(0),
        }
        let mut descriptors = [const { None }; MAX_DESCRIPTORS];
        let mut slots = descriptors.iter_mut();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                received.zip(&mut slots).for_each(|(descriptor, slot)| *slot = Some(descriptor));
            }
        }
        match Order::decode(&packet) {
            Some(order @ Order::Exec { id, .. }) => {
                if let Err((stage, errno)) = self.start(order, &mut descriptors) {
                    report(self.control, Report::NotStarted { id, stage, errno: errno.raw_os_error() });
                }
            }
            Some(Order::Signal { id, signal }) => self.signal(id, signal),
            Some(Order::KillAll) => sys::kill_everyone(),
            Some(Order::Socket { id }) => self.make_socket(id),
            Some(Order::Go) | None => {}
        }
    }

    fn start(
        &mut self,
        order: Order,
        received: &mut [Option<OwnedFd>; MAX_DESCRIPTORS],
    ) -> Result<(), (Stage, Errno)> {
        let Order::Exec { id, image_length, terminal, null, rows, columns, last } = order else {
            return Ok(());
        };
        let window = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let at = |stage: Stage| move |errno: Errno| (stage, errno);
        let slot = self.jobs.iter_mut().find(|slot| slot.is_none());
        let slot = slot.ok_or((Stage::Table, Errno::AGAIN))?;
        let mut received = received.iter_mut();
        let image = received.next().and_then(Option::take).ok_or((Stage::Image, Errno::BADF))?;
        let exec = Exec::map(&image, image_length).map_err(at(Stage::Image))?;
        let ends = if terminal == 0 {
            None
        } else {
            Some(open_terminal(window, self.script.cookie).map_err(at(Stage::Terminal))?)
        };
        let count = 3 + exec.descriptors().len();
        let mut descriptors = [const { None }; MAX_DESCRIPTORS + 3];
        let descriptors = descriptors.get_mut(..count).ok_or((Stage::Descriptors, Errno::INVAL))?;
        for (number, to) in descriptors.iter_mut().enumerate() {
            *to = match &ends {
                Some((_, inner)) if number < 3 && terminal & (1 << number) != 0 => {
                    Some(rustix::io::fcntl_dupfd_cloexec(inner, 3).map_err(at(Stage::Terminal))?)
                }
                _ if number < 3 && null & (1 << number) != 0 => None,
                _ => Some(received.next().and_then(Option::take).ok_or((Stage::Descriptors, Errno::BADF))?),
            };
        }
        let count = 3 + exec.descriptors().len();
        let Some(descriptors) = descriptors.get(..count) else {
            return Err((Stage::Descriptors, Errno::INVAL));
        };
        let own_files = descriptors.iter().flatten().any(|descriptor| reopening(descriptor) != Ok(0));
        if !own_files && self.common.is_none() {
            self.common = common_rules(self.script).map_err(at(Stage::Landlock))?;
        }
        let mut start = Start {
            script: self.script,
            common: self.common.as_ref().filter(|_| !own_files),
            exec: &exec,
            descriptors,
            terminal: ends.as_ref().map(|(_, inner)| inner.as_fd()),
            failure: None,
        };
        let pid = sys::start_sharing_memory(&mut self.workspace.stack, &mut start, become_command)
            .map_err(at(Stage::Process))?;
        if let Some(failure) = start.failure {
            return Err(failure);
        }
        *slot = Some(Job { id, pid, last });
        // A launcher that is gone is noticed at the next read.
        let _ = doors::send(self.control, Report::Started { id, pid }, &[ends.map(|(outer, _)| outer)]);
        Ok(())
    }

    fn make_socket(&self, id: u32) {
        let (errno, socket) = match sys::stream_socket() {
            Ok(socket) => (0, Some(socket)),
            Err(error) => (error.raw_os_error(), None),
        };
        // A launcher that is gone is noticed at the next read.
        let _ = doors::send(self.control, Report::Socket { id, errno }, &[socket]);
    }

    fn signal(&self, id: u32, signal: i32) {
        let job = self.jobs.iter().flatten().find(|job| job.id == id);
        let group = job.and_then(|job| Pid::from_raw(job.pid as i32));
        if let (Some(group), Some(signal)) = (group, Signal::from_named_raw(signal)) {
            let _ = kill_process_group(group, signal);
        }
    }
}

/// A new terminal in the sandbox's own /dev/pts: outer and inner end.
fn open_terminal(window: Winsize, cookie: u64) -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let outer = sys::open_past_broker(c"/dev/pts/ptmx", flags, cookie)?;
    rustix::pty::unlockpt(&outer)?;
    let inner = rustix::pty::ioctl_tiocgptpeer(
        &outer,
        rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY,
    )?;
    rustix::termios::tcsetwinsize(&inner, window)?;
    Ok((outer, inner))
}
