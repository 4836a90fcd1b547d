//! Keeping a busy caller on the core where its calls are answered.
//!
//! Handing a descriptor over wakes the caller wherever the kernel finds an idle core, and waking another core costs
//! more than all the rest of an open where every signal from core to core leaves a virtual machine. The thread that
//! answers is about to sleep, so that its own core is the quickest one for the caller, as it is for answers without a
//! descriptor, where the kernel has a flag for it. So a thread that opens one file after the other (`tar`, `git
//! checkout`, `cp -r`) may run on that core alone for as long as it goes on, and everywhere again a few milliseconds
//! after its last file.
//!
//! What it starts meanwhile inherits the single core. A watcher looks every few milliseconds who that was, and gives
//! them all cores. Only one thread at a time is kept: two of them might share a core while another one idles.

use super::process::Broker;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::io::Read;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How many files make a thread a busy one.
const MANY: u32 = 32;
/// How soon after the last one the next has to follow.
const SOON: Duration = Duration::from_millis(2);
/// How often what a kept thread started is looked for.
const LOOKS: Duration = Duration::from_millis(3);
/// For how long the watcher stays when there is nothing to watch.
const PATIENCE: Duration = Duration::from_millis(200);
/// As deep as a process may have started others between two looks.
const GENERATIONS: usize = 16;
/// What the kernel counts starts in: hundredths of a second.
const TICKS: i64 = 100;

/// The thread that is handed files at this time.
#[derive(Default)]
pub(super) struct SameCore {
    thread: u32,
    files: u32,
    last: Option<Instant>,
    kept: Option<Kept>,
    watched: Watched,
}

/// A thread that may run on one core.
struct Kept {
    thread: Pid,
    here: CpuSet,
    all: CpuSet,
    /// In ticks since the machine was started.
    since: i64,
}

/// Whether somebody looks after the kept thread.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Watched {
    #[default]
    No,
    Yes,
}

impl Broker {
    /// To be called before a thread is handed a file.
    pub(super) fn keep_on_this_core(self: &Arc<Self>, thread: u32) {
        let mut cores = self.cores.lock().unwrap_or_else(PoisonError::into_inner);
        cores.count(thread, &self.proc);
        if cores.files < MANY {
            return;
        }
        cores.keep(thread);
        if cores.kept.is_some() && cores.watched == Watched::No {
            let watched = self.aside(|broker| broker.watch_kept());
            cores.watched = if watched.is_ok() { Watched::Yes } else { Watched::No };
            // Nobody would let go of it.
            if watched.is_err() {
                cores.let_go(&self.proc);
            }
        }
    }

    /// Lets go of the kept thread when it has become quiet, and of what it started at once.
    fn watch_kept(&self) {
        let mut needed = Instant::now();
        loop {
            std::thread::sleep(LOOKS);
            let mut cores = self.cores.lock().unwrap_or_else(PoisonError::into_inner);
            if cores.last.is_some_and(|last| last.elapsed() > SOON) {
                cores.let_go(&self.proc);
            }
            match &cores.kept {
                Some(kept) => {
                    kept.widen_what_was_started(&self.proc, kept.thread, GENERATIONS);
                    needed = Instant::now();
                }
                None if needed.elapsed() > PATIENCE => {
                    cores.watched = Watched::No;
                    return;
                }
                None => {}
            }
        }
    }
}

impl SameCore {
    fn count(&mut self, thread: u32, proc: &OwnedFd) {
        let now = Instant::now();
        let goes_on = self.thread == thread && self.last.is_some_and(|last| now - last < SOON);
        if !goes_on {
            self.let_go(proc);
            self.files = 0;
        }
        (self.thread, self.last) = (thread, Some(now));
        self.files = self.files.saturating_add(1);
    }

    fn keep(&mut self, thread: u32) {
        let core = sched_getcpu();
        if self.kept.as_ref().is_some_and(|kept| kept.here.is_set(core)) {
            return;
        }
        let Some(thread) = i32::try_from(thread).ok().and_then(Pid::from_raw) else { return };
        let all = match &self.kept {
            Some(kept) => kept.all,
            None => match sched_getaffinity(Some(thread)) {
                Ok(all) => all,
                Err(_) => return,
            },
        };
        // It may have been told where to run.
        if all.count() < 2 || !all.is_set(core) {
            return;
        }
        let mut here = CpuSet::new();
        here.set(core);
        let since = self.kept.as_ref().map_or_else(ticks, |kept| kept.since);
        if sched_setaffinity(Some(thread), &here).is_ok() {
            self.kept = Some(Kept { thread, here, all, since });
        }
    }

    fn let_go(&mut self, proc: &OwnedFd) {
        let Some(kept) = self.kept.take() else { return };
        // It may have ended.
        let _ = sched_setaffinity(Some(kept.thread), &kept.all);
        kept.widen_what_was_started(proc, kept.thread, GENERATIONS);
    }
}

impl Kept {
    /// Gives all cores to what a process started since it was kept on one.
    fn widen_what_was_started(&self, proc: &OwnedFd, by: Pid, generations: usize) {
        let by = by.as_raw_nonzero();
        let children = read(proc, &format!("{by}/task/{by}/children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(number);
        for started in children.chain(threads_of(proc, by.get())) {
            let is_narrow = started != self.thread
                && sched_getaffinity(Some(started)).is_ok_and(|cores| cores.count() == 1);
            if is_narrow && is_younger(proc, started, self.since) {
                let _ = sched_setaffinity(Some(started), &self.all);
                if generations > 0 {
                    self.widen_what_was_started(proc, started, generations - 1);
                }
            }
        }
    }
}

/// Ticks since the machine was started.
fn ticks() -> i64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec * TICKS + i64::from(now.tv_nsec) * TICKS / 1_000_000_000
}

fn is_younger(proc: &OwnedFd, thread: Pid, since: i64) -> bool {
    const STARTED_BEHIND_NAME: usize = 19;
    let told = read(proc, &format!("{}/stat", thread.as_raw_nonzero())).unwrap_or_default();
    let started =
        told.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(STARTED_BEHIND_NAME));
    started.and_then(|ticks| ticks.parse::<i64>().ok()).is_some_and(|ticks| ticks >= since)
}

fn threads_of(proc: &OwnedFd, process: i32) -> Vec<Pid> {
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(tasks) = openat(proc, format!("{process}/task"), directory, Mode::empty()) else {
        return Vec::new();
    };
    let Ok(entries) = rustix::fs::Dir::read_from(tasks.as_fd()) else { return Vec::new() };
    entries.flatten().filter_map(|entry| number(entry.file_name().to_str().ok()?)).collect()
}

fn number(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

fn read(proc: &OwnedFd, name: &str) -> Option<String> {
    let file = openat(proc, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = String::new();
    std::fs::File::from(file).read_to_string(&mut text).ok()?;
    Some(text)
}
