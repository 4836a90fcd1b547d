//! The processes of one command, told apart from those of commands before it.

use rustix::fs::Stat;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The kernel counts the time at which processes start in these.
const TICKS_IN_A_SECOND: u64 = 100;
/// Processes that are held at once: each costs a descriptor.
const MOST: usize = 200;

/// When something began, as the kernel notes it for processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    tick: u64,
    /// The newest process by then. Ticks are long: what started in the same one is told apart by its number.
    newest: i32,
}

impl Moment {
    pub(super) fn now() -> Self {
        let now = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        let parts = u64::try_from(now.tv_nsec).unwrap_or_default() * TICKS_IN_A_SECOND / 1_000_000_000;
        Self { tick: seconds * TICKS_IN_A_SECOND + parts, newest: newest().unwrap_or_default() }
    }

    /// Whether a process started later.
    fn is_before(self, pid: Pid) -> bool {
        let newer = pid.as_raw_nonzero().get() > self.newest;
        started(pid).is_some_and(|start| start > self.tick || (start == self.tick && newer))
    }
}

/// A process that keeps its number as long as this is held.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    handle: OwnedFd,
}

impl Process {
    /// A process that is known to be there.
    pub(super) fn hold(pid: Pid) -> Option<Self> {
        Some(Self { pid, handle: pidfd_open(pid, PidfdFlags::empty()).ok()? })
    }

    pub(super) fn signal(&self, signal: i32) {
        // One that is gone needs no signal.
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = pidfd_send_signal(&self.handle, signal);
        }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }
}

/// What came from these processes since a moment, and is still below them.
pub(super) fn below(above: impl IntoIterator<Item = Pid>, since: Moment) -> Vec<Process> {
    let mut open: Vec<Pid> = above.into_iter().collect();
    let mut seen: HashSet<Pid> = open.iter().copied().collect();
    let mut found = Vec::new();
    while let Some(parent) = open.pop() {
        for child in children(parent) {
            if found.len() >= MOST || !seen.insert(child) {
                continue;
            }
            // Held first, looked at afterwards: what is looked at is what is held.
            let Some(process) = Process::hold(child) else { continue };
            if since.is_before(child) {
                open.push(child);
                found.push(process);
            }
        }
    }
    found
}

/// What belongs to the session of a process that led it, started since a moment, and may be nobody's child.
pub(super) fn of_session(leader: Pid, since: Moment) -> Vec<Process> {
    const SESSION: usize = 3;
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    let belongs = |pid: Pid| {
        let process = Process::hold(pid)?;
        let session: i32 = field(pid, SESSION)?.try_into().ok()?;
        (session == leader.as_raw_nonzero().get() && since.is_before(pid)).then_some(process)
    };
    pids.filter_map(belongs).take(MOST).collect()
}

/// The working directory of a shell. What it says itself may go through links, which is better to know, and is
/// believed where it is the same directory.
pub(super) fn directory_of(pid: Pid, said: Vec<u8>) -> Vec<u8> {
    let of = |name: &str| PathBuf::from(format!("/proc/{}/{name}", pid.as_raw_nonzero()));
    let Ok(seen) = fs::read_link(of("cwd")) else { return said };
    let seen = seen.into_os_string().into_vec();
    // One that was removed has no name that leads there.
    if seen == said || !seen.starts_with(b"/") || seen.ends_with(b" (deleted)") {
        return said;
    }
    let identity = |path: PathBuf| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let inside = OsStr::from_bytes(said.strip_prefix(b"/").unwrap_or(&said));
    let same = identity(of("root").join(inside)).is_some_and(|there| identity(of("cwd")) == Some(there));
    if same && said.starts_with(b"/") { said } else { seen }
}

/// What a process has for its standard input, as the kernel names it.
pub(super) fn input_of(pid: Pid) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{}/fd/0", pid.as_raw_nonzero())).ok()
}

/// Whether one of a process's descriptors is this file.
pub(super) fn has_open(pid: Pid, file: &Stat) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero()));
    descriptors.into_iter().flatten().flatten().any(|descriptor| {
        fs::metadata(descriptor.path())
            .is_ok_and(|found| (found.dev(), found.ino()) == (file.st_dev, file.st_ino))
    })
}

fn children(parent: Pid) -> Vec<Pid> {
    let tasks = fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
    let lists = tasks.into_iter().flatten().flatten();
    lists
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect::<Vec<_>>()
        })
        .collect()
}

/// The number that was given to a process last. Asked before every command, so that the file stays open.
fn newest() -> Option<i32> {
    static LOAD: OnceLock<Option<File>> = OnceLock::new();
    let load = LOAD.get_or_init(|| File::open("/proc/loadavg").ok()).as_ref()?;
    let mut text = [0; 128];
    let length = load.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.split_whitespace().last()?.parse().ok()
}

/// When a process started, in ticks since the machine did.
fn started(pid: Pid) -> Option<u64> {
    const START: usize = 19;
    field(pid, START)
}

/// Whether a process is stopped by whoever traces it, and does nothing any more.
pub(super) fn is_kept_still(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('t'))
}

/// A number of a process's status, counted after its name.
fn field(pid: Pid, number: usize) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name may hold anything, and ends with the last parenthesis.
    stat.rsplit_once(')')?.1.split_whitespace().nth(number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn only_what_came_since_is_found() {
        let before = Moment::now();
        // In a session of its own: ours may be led from outside of our pid namespace and have no number here.
        let mut child = Command::new("setsid").args(["sleep", "60"]).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let ours = rustix::process::getpid();
        assert!(below([ours], before).iter().any(|found| found.pid() == pid));
        assert!(!below([ours], Moment::now()).iter().any(|found| found.pid() == pid));
        let found = || of_session(pid, before).iter().any(|found| found.pid() == pid);
        let patience = Instant::now() + Duration::from_secs(20);
        while !found() {
            assert!(Instant::now() < patience);
        }
        Process::hold(pid).unwrap().signal(9);
        assert!(!child.wait().unwrap().success());
    }
}
