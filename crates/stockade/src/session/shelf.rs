//! The background commands of a session, and how much is kept of those that ended.
//!
//! Each keeps the last of its output, but their number has no bound, and who starts them may never ask.

use super::background::{Background, BackgroundId, BackgroundState};
use super::error::SessionError;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Bytes that all commands that ended keep together. The one that ended last keeps its own in any case.
pub(super) const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Commands that ended and are remembered.
const MOST_ENDED: usize = 256;

/// The commands by number.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    known: BTreeMap<u64, Arc<Background>>,
    /// Those that ended, in that order.
    ended: VecDeque<u64>,
    last: u64,
}

/// A shelf that commands put themselves on when they end.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelves(Arc<Mutex<Shelf>>);

/// The place of one command.
#[derive(Debug)]
pub(super) struct Slot {
    shelf: Weak<Mutex<Shelf>>,
    id: u64,
}

impl Slot {
    /// The command ended.
    pub(super) fn settle(&self) {
        if let Some(shelf) = self.shelf.upgrade() {
            lock(&shelf).settle(self.id);
        }
    }
}

impl Shelves {
    /// Begins a command, and remembers it.
    pub(super) fn add(&self, begin: impl FnOnce(Slot) -> Arc<Background>) -> BackgroundId {
        // Held until it is there: it may end at once.
        let mut shelf = lock(&self.0);
        shelf.last += 1;
        let id = shelf.last;
        let background = begin(Slot { shelf: Arc::downgrade(&self.0), id });
        shelf.known.insert(id, background);
        BackgroundId(id)
    }

    pub(super) fn find(&self, BackgroundId(id): BackgroundId) -> Result<Arc<Background>, SessionError> {
        let shelf = lock(&self.0);
        match shelf.known.get(&id) {
            Some(background) => Ok(Arc::clone(background)),
            None if (1..=shelf.last).contains(&id) => Err(SessionError::Forgotten { id }),
            None => Err(SessionError::Unknown { id }),
        }
    }

    pub(super) fn forget(&self, id: BackgroundId) {
        lock(&self.0).forget(id.0);
    }

    /// Forgets all of them.
    pub(super) fn clear(&self) {
        let mut shelf = lock(&self.0);
        shelf.known.clear();
        shelf.ended.clear();
    }

    pub(super) fn list(&self) -> Vec<(BackgroundId, OsString, BackgroundState)> {
        let told = |(id, command): (&u64, &Arc<Background>)| {
            (BackgroundId(*id), command.text().clone(), command.state())
        };
        lock(&self.0).known.iter().map(told).collect()
    }

    /// Whether one runs.
    pub(super) fn is_busy(&self) -> bool {
        lock(&self.0).known.values().any(|command| command.state() == BackgroundState::Running)
    }
}

impl Shelf {
    fn forget(&mut self, id: u64) {
        self.known.remove(&id);
        self.ended.retain(|ended| *ended != id);
    }

    /// Makes room for a command that has just ended: first the output of the oldest goes, then they themselves.
    fn settle(&mut self, id: u64) {
        if !self.known.contains_key(&id) {
            return;
        }
        self.ended.push_back(id);
        let older = self.ended.len() - 1;
        let weight = |id: &u64| self.known.get(id).map_or(0, |command| command.weight());
        let mut bytes: usize = self.ended.iter().map(weight).sum();
        for command in self.ended.iter().take(older).filter_map(|id| self.known.get(id)) {
            if bytes <= MOST_BYTES {
                break;
            }
            bytes -= command.let_go();
        }
        while self.ended.len() > 1
            && (self.ended.len() > MOST_ENDED || bytes > MOST_BYTES)
            && let Some(oldest) = self.ended.pop_front()
        {
            bytes -= self.known.remove(&oldest).map_or(0, |command| command.weight());
        }
    }
}

fn lock(shelf: &Mutex<Shelf>) -> MutexGuard<'_, Shelf> {
    // Commands are put there and taken away whole.
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}
