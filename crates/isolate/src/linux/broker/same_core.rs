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
//! them all cores; when the thread is let go, everybody inside is looked at. Programs that ask how many cores there
//! are, to start as many threads, must not be told of one: that call is held, and whoever makes it gets all cores
//! first. Whoever has one core has it from us, as long as nobody inside has chosen any: from then on nobody is kept.
//! Only one thread at a time is kept: two of them might share a core while another one idles.

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
/// As many threads are looked at in one go.
const MOST: usize = 4096;
/// What the kernel counts starts in: hundredths of a second.
const TICKS: i64 = 100;

/// The thread that is handed files at this time.
#[derive(Default)]
pub(super) struct SameCore {
    thread: u32,
    files: u32,
    last: Option<Instant>,
    kept: Option<Kept>,
    /// What whoever inherited a single core is to have instead.
    usual: Option<Usual>,
    watched: Watched,
    /// Somebody inside chooses where to run, and nothing may take that back.
    chosen: bool,
}

/// A thread that may run on one core.
struct Kept {
    thread: Pid,
    here: CpuSet,
    all: CpuSet,
}

/// Where threads of the sandbox run.
#[derive(Clone, Copy)]
struct Usual {
    all: CpuSet,
    /// When the first thread was kept, in ticks since the machine was started: who is older inherited nothing.
    since: i64,
}

/// Whether somebody looks after the kept thread.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Watched {
    #[default]
    No,
    Yes,
    /// Nobody is kept, and what was started has been seen to once.
    Quiet,
}

impl Broker {
    /// To be called before a thread is handed a file.
    pub(super) fn keep_on_this_core(self: &Arc<Self>, thread: u32) {
        let mut cores = self.cores.lock().unwrap_or_else(PoisonError::into_inner);
        cores.count(thread);
        if cores.files < MANY || cores.chosen {
            return;
        }
        cores.keep(thread);
        if cores.kept.is_some() && cores.watched == Watched::No {
            let watched = self.aside(|broker| broker.watch_kept());
            cores.watched = if watched.is_ok() { Watched::Yes } else { Watched::No };
            // Nobody would let go of it.
            if watched.is_err() {
                cores.let_go();
            }
        }
    }

    /// Gives a thread all cores before it learns, or chooses, where it may run.
    pub(super) fn show_all_cores(&self, to: u32, what: Cores) {
        let mut cores = self.cores.lock().unwrap_or_else(PoisonError::into_inner);
        cores.let_go();
        let Some(usual) = cores.usual else {
            cores.chosen |= what == Cores::Chosen;
            return;
        };
        if cores.chosen {
            return;
        }
        match what {
            Cores::Asked => {
                if let Some(to) = pid(to) {
                    usual.widen(&self.proc, to);
                }
            }
            Cores::Chosen => {
                usual.widen_everybody(self);
                cores.chosen = true;
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
                cores.let_go();
            }
            let Some(usual) = cores.usual.filter(|_| !cores.chosen) else {
                cores.watched = Watched::No;
                return;
            };
            match &cores.kept {
                Some(kept) => {
                    usual.widen_started_by(&self.proc, kept.thread);
                    needed = Instant::now();
                    cores.watched = Watched::Yes;
                }
                None if needed.elapsed() > PATIENCE => {
                    usual.widen_everybody(self);
                    cores.watched = Watched::No;
                    return;
                }
                None if cores.watched == Watched::Yes => {
                    usual.widen_everybody(self);
                    cores.watched = Watched::Quiet;
                }
                None => {}
            }
        }
    }
}

impl SameCore {
    fn count(&mut self, thread: u32) {
        let now = Instant::now();
        let goes_on = self.thread == thread && self.last.is_some_and(|last| now - last < SOON);
        if !goes_on {
            self.let_go();
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
        // Before it is narrow: whoever inherits that is younger.
        let usual = *self.usual.get_or_insert_with(|| Usual { all, since: ticks() });
        if sched_setaffinity(Some(thread), &here).is_ok() {
            self.kept = Some(Kept { thread, here, all });
            self.usual = Some(Usual { all, ..usual });
        }
    }

    fn let_go(&mut self) {
        if let Some(kept) = self.kept.take() {
            // It may have ended.
            let _ = sched_setaffinity(Some(kept.thread), &kept.all);
        }
    }
}

impl Usual {
    /// Gives all cores to a thread that inherited a single one.
    fn widen(&self, proc: &OwnedFd, thread: Pid) {
        let is_narrow = sched_getaffinity(Some(thread)).is_ok_and(|cores| cores.count() == 1);
        if is_narrow && is_younger(proc, thread, self.since) {
            let _ = sched_setaffinity(Some(thread), &self.all);
        }
    }

    /// The same for what the kept thread started, and what those did.
    fn widen_started_by(&self, proc: &OwnedFd, kept: Pid) {
        let process = kept.as_raw_nonzero().get();
        for thread in threads_of(proc, process).into_iter().filter(|thread| *thread != kept) {
            self.widen(proc, thread);
        }
        self.widen_below(proc, children_of(proc, process, kept));
    }

    /// The same for everybody in the sandbox: parents may have ended, and others have taken their children in.
    fn widen_everybody(&self, broker: &Broker) {
        self.widen_below(&broker.proc, first_process(broker).into_iter().collect());
    }

    /// Who starts somebody is widened first, so that nobody inherits a single core after it was looked for them.
    fn widen_below(&self, proc: &OwnedFd, mut processes: Vec<Pid>) {
        let mut looked_at = 0;
        while let Some(process) = processes.pop() {
            let process = process.as_raw_nonzero().get();
            for thread in threads_of(proc, process) {
                self.widen(proc, thread);
                processes.extend(children_of(proc, process, thread));
                looked_at += 1;
                if looked_at == MOST {
                    return;
                }
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

fn children_of(proc: &OwnedFd, process: i32, thread: Pid) -> Vec<Pid> {
    let children = read(proc, &format!("{process}/task/{}/children", thread.as_raw_nonzero()));
    children.unwrap_or_default().split_whitespace().filter_map(number).collect()
}

fn read(proc: &OwnedFd, name: &str) -> Option<String> {
    let file = openat(proc, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = String::new();
    std::fs::File::from(file).read_to_string(&mut text).ok()?;
    Some(text)
}
