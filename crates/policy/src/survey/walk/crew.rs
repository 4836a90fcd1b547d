//! Several threads for a tree that turned out to be big.
//!
//! Most of a search is the kernel reading directories, and it does that for every core at once.

use super::walker::{Visit, Walker};
use crate::PlanError;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// More threads than this wait for each other more than they help.
const MOST_THREADS: usize = 4;
/// Fewer directories than this are looked into sooner than handed over.
const WORTH_GIVING: usize = 4;

/// Directories that anybody may look into.
struct Pool<'a> {
    visits: Vec<Visit<'a>>,
    /// Threads at work or waiting.
    members: usize,
    waiting: usize,
}

/// Threads that share a search.
struct Crew<'a> {
    pool: Mutex<Pool<'a>>,
    changed: Condvar,
    /// The same as `waiting`, to be asked after every directory.
    hungry: AtomicUsize,
    /// Everything is looked into, or somebody failed.
    over: AtomicBool,
}

/// Looks into everything a walker has still to do, with as many threads as there are cores.
pub(super) fn share(first: &mut Walker) -> Result<(), PlanError> {
    let threads = thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS));
    let crew = Crew {
        pool: Mutex::new(Pool { visits: std::mem::take(&mut first.pending), members: 1, waiting: 0 }),
        changed: Condvar::new(),
        hungry: AtomicUsize::new(0),
        over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let mut helpers = Vec::new();
        for _ in 1..threads {
            let (crew, mut walker) = (&crew, first.another());
            crew.pool().members += 1;
            let helper = thread::Builder::new().spawn_scoped(scope, move || {
                let done = crew.work(&mut walker);
                (walker, done)
            });
            match helper {
                Ok(helper) => helpers.push(helper),
                // No more threads to be had: those there are do the work.
                Err(_) => crew.pool().members -= 1,
            }
        }
        let mut done = crew.work(first);
        for helper in helpers {
            let (walker, its) = helper.join().unwrap_or_else(|cause| panic::resume_unwind(cause));
            first.take_over(walker);
            done = done.and(its);
        }
        done
    })
}

impl<'a> Crew<'a> {
    fn pool(&self) -> MutexGuard<'_, Pool<'a>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, walker: &mut Walker<'_, 'a>) -> Result<(), PlanError> {
        // Whoever leaves early, by an error or a panic, must not leave the others waiting.
        let _leaving = Leaving(self);
        while let Some(visits) = self.wait_for_some() {
            walker.pending = visits;
            while let Some(visit) = walker.pending.pop() {
                if self.over.load(Ordering::Relaxed) {
                    return Ok(());
                }
                walker.visit(visit)?;
                if self.hungry.load(Ordering::Relaxed) > 0 {
                    self.give_from(&mut walker.pending);
                }
            }
        }
        Ok(())
    }

    /// Half of what is there; `None` when the search is over.
    fn wait_for_some(&self) -> Option<Vec<Visit<'a>>> {
        let mut pool = self.pool();
        loop {
            if self.over.load(Ordering::Relaxed) {
                return None;
            }
            if !pool.visits.is_empty() {
                let half = pool.visits.len() / 2;
                return Some(pool.visits.split_off(half));
            }
            if pool.waiting + 1 == pool.members {
                drop(pool);
                self.end();
                return None;
            }
            pool.waiting += 1;
            self.hungry.store(pool.waiting, Ordering::Relaxed);
            pool = self.changed.wait(pool).unwrap_or_else(PoisonError::into_inner);
            pool.waiting -= 1;
            self.hungry.store(pool.waiting, Ordering::Relaxed);
        }
    }

    /// The oldest half: what was found first lies highest and holds most.
    fn give_from(&self, pending: &mut Vec<Visit<'a>>) {
        if pending.len() < WORTH_GIVING {
            return;
        }
        let mut pool = self.pool();
        if pool.visits.is_empty() {
            pool.visits.extend(pending.drain(..pending.len() / 2));
            drop(pool);
            self.changed.notify_one();
        }
    }

    fn end(&self) {
        // Under the lock, or somebody could begin to wait after this and never be woken.
        let _pool = self.pool();
        self.over.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }
}

struct Leaving<'c, 'a>(&'c Crew<'a>);

impl Drop for Leaving<'_, '_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
