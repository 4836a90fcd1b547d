//! File masks of threads that make files, so that not every file costs a look into /proc.
//!
//! A mask only changes through a call that is held, too; then everything is forgotten. What is remembered
//! is also forgotten after a moment, because numbers of threads are used again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

const REMEMBERED: usize = 1024;
const A_MOMENT: Duration = Duration::from_secs(1);
/// The call that changes a mask is done only after we have answered it.
const SETTLING: Duration = Duration::from_millis(20);

/// Masks by thread.
#[derive(Default)]
pub(super) struct Masks {
    known: HashMap<u32, (u32, Instant)>,
    changed: Option<Instant>,
}

impl Masks {
    pub(super) fn get(&self, thread: u32) -> Option<u32> {
        let (mask, since) = self.known.get(&thread)?;
        (since.elapsed() < A_MOMENT).then_some(*mask)
    }

    pub(super) fn remember(&mut self, thread: u32, mask: u32) {
        if self.changed.is_some_and(|changed| changed.elapsed() < SETTLING) {
            return;
        }
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(thread, (mask, Instant::now()));
    }

    /// Somebody is changing theirs.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.changed = Some(Instant::now());
    }
}
