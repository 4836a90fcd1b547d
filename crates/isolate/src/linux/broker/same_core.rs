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
//! them all cores. Programs that ask how many there are, to start as many threads, must not be told of one: that call
//! is held, and lets go of everything before it is answered. Where somebody chooses its cores itself, nobody is kept
//! any more. Only one thread at a time is kept: two of them might share a core while another one idles.

use super::call::Cores;
use super::process::Broker;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
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
    /// Somebody inside chooses where to run, and nothing may take that back.
    chosen: bool,
}

/// A thread that may run on one core.
struct Kept {
    thread: Pid,
    /// The sandbox's, whose children are those whose parents have ended.
    first_process: Option<Pid>,
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
        cores.count(thread, self);
        if cores.files < MANY || cores.chosen {
            return;
        }
        cores.keep(thread, self);
        if cores.kept.is_some() && cores.watched == Watched::No {
            let watched = self.aside(|broker| broker.watch_kept());
            cores.watched = if watched.is_ok() { Watched::Yes } else { Watched::No };
            // Nobody would let go of it.
            if watched.is_err() {
                cores.let_go(self);
            }
        }
    }

    /// Lets go of everything before a thread learns, or chooses, where it may run.
    pub(super) fn show_all_cores(&self, to: u32, cores: Cores) {
        let mut kept = self.cores.lock().unwrap_or_else(PoisonError::into_inner);
        if cores == Cores::Chosen {
            kept.chosen = true;
        }
        if let Some(before) = kept.let_go(self)
            && let Some(to) = pid(to)
        {
            before.widen(self, to, GENERATIONS);
        }
    }

    /// Lets go of the kept thread when it has become quiet, and of what it started at once.
    fn watch_kept(&self) {
        let mut needed = Instant::now();
        loop {
            std::thread::sleep(LOOKS);
            let mut cores = self.cores.lock().unwrap_or_else(PoisonError::into_inner);
            if cores.last.is_some_and(|last| last.elapsed() > SOON) {
                cores.let_go(self);
            }
            match &cores.kept {
                Some(kept) => {
                    kept.widen_all_it_started(self);
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
    fn count(&mut self, thread: u32, broker: &Broker) {
        let now = Instant::now();
        let goes_on = self.thread == thread && self.last.is_some_and(|last| now - last < SOON);
        if !goes_on {
            self.let_go(broker);
            self.files = 0;
        }
        (self.thread, self.last) = (thread, Some(now));
        self.files = self.files.saturating_add(1);
    }

    fn keep(&mut self, thread: u32, broker: &Broker) {
        let core = sched_getcpu();
        if self.kept.as_ref().is_some_and(|kept| kept.here.is_set(core)) {
            return;
        }
        let Some(thread) = pid(thread) else { return };
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
        let (since, first_process) = match &self.kept {
            Some(kept) => (kept.since, kept.first_process),
            None => (ticks(), first_process(broker)),
        };
        if sched_setaffinity(Some(thread), &here).is_ok() {
            self.kept = Some(Kept { thread, first_process, here, all, since });
        }
    }

    fn let_go(&mut self, broker: &Broker) -> Option<Kept> {
        let kept = self.kept.take()?;
        // It may have ended.
        let _ = sched_setaffinity(Some(kept.thread), &kept.all);
        kept.widen_all_it_started(broker);
        Some(kept)
    }
}

impl Kept {
    /// Gives all cores to what was started since the thread was kept on one, also where who started it has ended.
    fn widen_all_it_started(&self, broker: &Broker) {
        self.widen_started_by(broker, self.thread, GENERATIONS);
        if let Some(first) = self.first_process {
            self.widen_started_by(broker, first, GENERATIONS);
        }
    }

    fn widen_started_by(&self, broker: &Broker, by: Pid, generations: usize) {
        let by = by.as_raw_nonzero();
        let children = read(&broker.proc, &format!("{by}/task/{by}/children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(number);
        for started in children.chain(threads_of(&broker.proc, by.get())) {
            self.widen(broker, started, generations);
        }
    }

    fn widen(&self, broker: &Broker, started: Pid, generations: usize) {
        let is_narrow =
            started != self.thread && sched_getaffinity(Some(started)).is_ok_and(|cores| cores.count() == 1);
        if is_narrow && is_younger(&broker.proc, started, self.since) {
            let _ = sched_setaffinity(Some(started), &self.all);
            if generations > 0 {
                self.widen_started_by(broker, started, generations - 1);
            }
        }
    }
}

/// Ticks since the machine was started.
fn ticks() -> i64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec * TICKS + now.tv_nsec * TICKS / 1_000_000_000
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

fn first_process(broker: &Broker) -> Option<Pid> {
    let told = read(&broker.proc, &format!("self/fdinfo/{}", broker.init.as_raw_fd()))?;
    number(told.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim())
}

fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
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
