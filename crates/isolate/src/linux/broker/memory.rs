//! What is remembered about threads, so that not every file costs several looks into /proc.
//!
//! A file mask and a working directory only change through calls that are held, too; then everything is
//! forgotten. What is remembered is also forgotten after a moment, because numbers of threads are used
//! again. A handle to a thread is the one thing that never means another one.

use rustix::fd::OwnedFd;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const REMEMBERED: usize = 1024;
const A_MOMENT: Duration = Duration::from_millis(500);
/// The call that changes something is done only after we have answered it.
const SETTLING: Duration = Duration::from_millis(20);

/// What is known about threads.
#[derive(Default)]
pub(super) struct Memory {
    known: HashMap<u32, Known>,
    changed: Option<Instant>,
}

struct Known {
    since: Instant,
    mask: Option<u32>,
    directory: Option<Arc<OwnedFd>>,
    handle: Option<Arc<OwnedFd>>,
}

impl Memory {
    /// A thread's file mask.
    pub(super) fn mask(&self, thread: u32) -> Option<u32> {
        self.get(thread)?.mask
    }

    /// A thread's working directory.
    pub(super) fn directory(&self, thread: u32) -> Option<Arc<OwnedFd>> {
        self.get(thread)?.directory.clone()
    }

    /// The thread itself.
    pub(super) fn handle(&self, thread: u32) -> Option<Arc<OwnedFd>> {
        self.get(thread)?.handle.clone()
    }

    pub(super) fn remember_mask(&mut self, thread: u32, mask: u32) {
        if let Some(known) = self.entry(thread) {
            known.mask = Some(mask);
        }
    }

    pub(super) fn remember_directory(&mut self, thread: u32, directory: &Arc<OwnedFd>) {
        if let Some(known) = self.entry(thread) {
            known.directory = Some(Arc::clone(directory));
        }
    }

    pub(super) fn remember_handle(&mut self, thread: u32, handle: &Arc<OwnedFd>) {
        if let Some(known) = self.entry(thread) {
            known.handle = Some(Arc::clone(handle));
        }
    }

    /// Somebody is changing theirs.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.changed = Some(Instant::now());
    }

    fn get(&self, thread: u32) -> Option<&Known> {
        self.known.get(&thread).filter(|known| known.since.elapsed() < A_MOMENT)
    }

    fn entry(&mut self, thread: u32) -> Option<&mut Known> {
        if self.changed.is_some_and(|changed| changed.elapsed() < SETTLING) {
            return None;
        }
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        let fresh = || Known { since: Instant::now(), mask: None, directory: None, handle: None };
        let known = self.known.entry(thread).or_insert_with(fresh);
        if known.since.elapsed() >= A_MOMENT {
            *known = fresh();
        }
        Some(known)
    }
}
