//! From a compiled script to a first process with its walls up.

use super::ahead;
use super::broker::BrokerHandle;
use super::init::{self, Loopback, Workspace};
use super::probe;
use super::script::{Network, Script};
use super::seccomp::Filter;
use super::sys::{self, Helper, Namespaces, Side};
use super::wire::{Order, PACKET, Report, Step};
use crate::CreateError;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socketpair};
use std::io::{self, Write};
use std::sync::Arc;
use stockade_policy::{Plan, WallLayer};
use tokio::io::unix::AsyncFd;

/// A first process that is being set up.
pub(crate) struct Launched {
    /// The first process, as this one numbers it.
    pub(crate) pid: u32,
    pub(crate) control: AsyncFd<OwnedFd>,
    pub(crate) pidfd: AsyncFd<OwnedFd>,
    pub(crate) broker: Option<BrokerHandle>,
}

/// Clones the first process and lets it build, and makes ready for a broker where the plan needs one.
pub(crate) fn launch(plan: &Arc<Plan>, script: &Script) -> Result<Launched, CreateError> {
    let pair = || socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let (ours, theirs) = pair().map_err(step("make the control socket"))?;
    let (to_broker, from_init) = pair().map_err(step("make the broker's socket"))?;
    let mut workspace = Workspace::new(script);
    let birth =
        Birth { script, workspace: &mut workspace, control: theirs.as_fd(), to_broker: to_broker.as_fd() };
    let helper = ahead::take();
    let (pid, pidfd) = birth.happen(helper.as_ref()).map_err(no_namespaces)?;
    drop((theirs, to_broker));
    // Should anything fail from here on, dropping `ours` ends the child, and this reaps it.
    let guard = Unfinished(Some(pidfd));
    // Before it closes itself to everybody.
    let namespaces = match &script.filter {
        Filter::Holds(_) => Some(Namespaces::of(pid).map_err(step("open the sandbox's namespaces"))),
        Filter::Refuses(_) => None,
    };
    let told = write_maps(pid).and_then(|()| {
        let sent = rustix::net::send(&ours, &Order::Go.encode(), SendFlags::NOSIGNAL);
        sent.map(drop).map_err(step("let the set-up go on"))
    });
    // A child that is gone already has said why, which is the better message.
    told.map_err(|error| early_report(&ours, script).unwrap_or(error))?;
    let broker = match (namespaces, &guard.0) {
        (Some(namespaces), Some(init)) => {
            Some(BrokerHandle::new(plan, init.as_fd(), namespaces?, from_init)?)
        }
        _ => None,
    };
    // Only now: it has ended meanwhile, and need not be waited for.
    drop(helper);
    rustix::io::ioctl_fionbio(&ours, true).map_err(step("make the control socket"))?;
    let unwatched = |source| CreateError::Step {
        act: "watch the first process",
        path: None,
        source,
        hint: "call from inside a tokio runtime with I/O enabled",
    };
    Ok(Launched {
        pid,
        control: sys::watch(ours).map_err(unwatched)?,
        pidfd: sys::watch(guard.finish()?).map_err(unwatched)?,
        broker,
    })
}

/// A first process to be, and what it is given.
struct Birth<'a> {
    script: &'a Script,
    workspace: &'a mut Workspace,
    control: BorrowedFd<'a>,
    to_broker: BorrowedFd<'a>,
}

impl Birth<'_> {
    /// Clones it, into namespaces that wait for it where there are some.
    fn happen(mut self, helper: Option<&Helper>) -> Result<(u32, OwnedFd), Errno> {
        let private = !matches!(self.script.network, Network::Host);
        if let Some(helper) = helper.filter(|_| private) {
            self.workspace.loopback = Loopback::Up;
            let rest = libc::CLONE_NEWNS | libc::CLONE_NEWPID;
            if let Some(born) = helper.clone_into(rest, &mut self, |born| born.live())? {
                return Ok(born);
            }
            // Why not shows when it is tried again.
            self.workspace.loopback = Loopback::Down;
        }
        let mut namespaces = libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP;
        if private {
            namespaces |= libc::CLONE_NEWNET;
        }
        match sys::clone_init(namespaces)? {
            Side::Init => self.live(),
            Side::Launcher { pid, pidfd } => Ok((pid, pidfd)),
        }
    }

    fn live(&mut self) -> ! {
        init::run(self.script, self.workspace, self.control, self.to_broker)
    }
}

/// What a child that ended at once had to say.
fn early_report(control: &OwnedFd, script: &Script) -> Option<CreateError> {
    let mut packet = [0; PACKET];
    // That an order of ours went unheard is told before the last words.
    let mut excuses = 1;
    loop {
        match rustix::net::recv(control, &mut packet, RecvFlags::DONTWAIT) {
            Ok((PACKET, _)) => {}
            Err(_) if excuses > 0 => {
                excuses -= 1;
                continue;
            }
            _ => return None,
        }
        if let Some(Report::Failed { step, index, errno }) = Report::decode(&packet) {
            return Some(explain(script, step, index, io::Error::from_raw_os_error(errno)));
        }
    }
}

/// Kills and reaps a child whose set-up did not get through.
struct Unfinished(Option<OwnedFd>);

impl Unfinished {
    fn finish(mut self) -> Result<OwnedFd, CreateError> {
        self.0.take().ok_or(CreateError::Died)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(pidfd) = &self.0 {
            let _ = rustix::process::pidfd_send_signal(pidfd, rustix::process::Signal::KILL);
            let _ = sys::reap_pidfd(pidfd.as_fd());
        }
    }
}

/// Gives the child its ids. A root caller's whole range is mapped one to one, so that files keep their
/// owners; anybody else may map only themselves.
fn write_maps(pid: u32) -> Result<(), CreateError> {
    let write = |name: &str, text: &str| {
        let path = format!("/proc/{pid}/{name}");
        let file = std::fs::OpenOptions::new().write(true).open(&path);
        // One write: the kernel takes a map only whole.
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|source| CreateError::Step {
            act: "map user and group ids in",
            path: Some(path.into()),
            source,
            hint: probe::USER_NAMESPACE_HINT,
        })
    };
    if rustix::process::geteuid().is_root() {
        let own_map = |name: &str| -> Result<String, CreateError> {
            let path = format!("/proc/self/{name}");
            let map = std::fs::read_to_string(&path).map_err(|source| CreateError::Step {
                act: "read",
                path: Some(path.into()),
                source,
                hint: "mount /proc",
            })?;
            Ok(one_to_one(&map))
        };
        write("uid_map", &own_map("uid_map")?)?;
        return write("gid_map", &own_map("gid_map")?);
    }
    let uid = rustix::process::geteuid().as_raw();
    let gid = rustix::process::getegid().as_raw();
    write("setgroups", "deny")?;
    write("uid_map", &format!("{uid} {uid} 1"))?;
    write("gid_map", &format!("{gid} {gid} 1"))
}

/// The ids we have, mapped to themselves.
fn one_to_one(map: &str) -> String {
    let lines = map.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let (inside, _, count) = (fields.next()?, fields.next()?, fields.next()?);
        Some(format!("{inside} {inside} {count}\n"))
    });
    lines.collect()
}

fn step(act: &'static str) -> impl Fn(Errno) -> CreateError {
    move |errno| CreateError::Step {
        act,
        path: None,
        source: errno.into(),
        hint: "the system may be short of descriptors, processes or memory",
    }
}

fn no_namespaces(errno: Errno) -> CreateError {
    CreateError::MissingLayer {
        layer: WallLayer::UserNamespace,
        because: String::new(),
        reason: format!("new namespaces were refused ({errno})"),
        hint: match errno {
            Errno::AGAIN | Errno::NOMEM => "the limit of processes (`ulimit -u`) or memory is reached".into(),
            Errno::NOSPC | Errno::USERS => {
                "the limit of namespaces is reached: `sysctl user.max_user_namespaces`".into()
            }
            _ => probe::namespace_hint(),
        },
    }
}

/// Turns a step's number back into words.
pub(crate) fn explain(script: &Script, step: Step, index: u32, source: io::Error) -> CreateError {
    let path = script.steps.get(index as usize).map(|step| step.shown.clone());
    let (act, hint) = match step {
        Step::Changed => {
            return CreateError::Changed { path: path.unwrap_or_default() };
        }
        Step::Open if matches!(source.raw_os_error(), Some(libc::ENOENT | libc::ELOOP | libc::ENOTDIR)) => {
            return CreateError::Changed { path: path.unwrap_or_default() };
        }
        Step::Network => ("make the sandbox's own network", probe::USER_NAMESPACE_HINT),
        Step::Gateway => {
            return CreateError::MissingLayer {
                layer: WallLayer::Gateway,
                because: String::new(),
                reason: format!("connections could not be led to the gateway ({source})"),
                hint: probe::REDIRECT_HINT.into(),
            };
        }
        Step::Doors => {
            let port = script.network.doors().get(index as usize).map(|door| door.address.port());
            return CreateError::Plan {
                reason: format!(
                    "port {} of the sandbox's own network cannot be listened on ({source})",
                    port.unwrap_or_default()
                ),
            };
        }
        Step::Root | Step::Staging | Step::Pivot => {
            ("prepare the sandbox's own mounts", probe::USER_NAMESPACE_HINT)
        }
        Step::Open if matches!(source.raw_os_error(), Some(libc::EACCES)) => ("open", CLOSED_HINT),
        Step::Open => ("open", "the caller must be able to reach every path its rules name"),
        Step::Bind => ("bring in", "a file system may refuse to be mounted again; leave the path out"),
        Step::Mask => {
            ("mask", "the kernel limits mounts (fs.mount-max); deny a directory instead of many files")
        }
        Step::Directory => ("make the mount point of", "run `stockade plan` and look for overlapping rules"),
        Step::Overlay => {
            return CreateError::Step {
                act: "lay an overlay over",
                path,
                hint: overlay_hint(&source),
                source,
            };
        }
        Step::Overlaid => {
            return CreateError::Overlaid { path: path.unwrap_or_default() };
        }
        Step::Tmpfs => ("mount a private file system on", "the machine may be out of memory"),
        Step::Content => {
            ("lay a file over", "it covers a file, not a directory; the machine may be out of memory")
        }
        Step::Device => {
            ("build the private /dev at", "the host's own /dev must hold null, zero, full, random, tty")
        }
        Step::Proc | Step::Cover => ("mount a fresh /proc", probe::PROC_HINT),
        Step::Privileges => ("give up privileges", "run `stockade doctor`"),
        Step::Seccomp => {
            return CreateError::MissingLayer {
                layer: WallLayer::Seccomp,
                because: String::new(),
                reason: format!("the kernel refused the system-call filter ({source})"),
                hint:
                    "the kernel needs CONFIG_SECCOMP_FILTER; a filter above this process may refuse another"
                        .into(),
            };
        }
        Step::Broker => {
            return CreateError::MissingLayer {
                layer: WallLayer::Broker,
                because: String::new(),
                reason: format!("held system calls cannot be had ({source})"),
                hint: "the kernel needs seccomp user notification with its options of Linux 5.19, and no filter above this process that has a listener of its own".into(),
            };
        }
        Step::Serve => ("start serving", "the system may be short of descriptors or memory"),
    };
    CreateError::Step { act, path, source, hint }
}

/// Rights over others' files end at the sandbox's own user namespace, root's as well.
const CLOSED_HINT: &str = "a directory on the way is closed to the caller, and behind walls root has no rights over others' files; if HOME or an XDG_*_HOME variable names another user's directory, set it to one of your own (sudo -H)";

/// What keeps the kernel from an overlay, by the error it gives.
fn overlay_hint(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::ENODEV) => "the kernel must have overlayfs",
        Some(libc::EPERM) => "the kernel must let user namespaces mount overlayfs (Linux 5.11)",
        Some(libc::ELOOP | libc::EBUSY) => "the workspace and Stockade's state must not lie in one another",
        Some(libc::ENOSPC | libc::EDQUOT) => "the file system of Stockade's state directory is full",
        _ => {
            "something of the host's may be mounted below the workspace, or the file system of Stockade's state \
             directory (XDG_STATE_HOME) cannot hold an overlay's changes"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::one_to_one;

    #[test]
    fn a_containers_map_keeps_its_ranges() {
        assert_eq!(
            one_to_one("         0     100000      65536\n  65536 1 1\n"),
            "0 0 65536\n65536 65536 1\n"
        );
    }
}
