//! How much the resolver does at once.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lookups on the host at the same time: of names that are written down or have been answered for, and of all
/// others. Of those a program can make up any number that nobody answers for.
pub(super) const LOOKUPS: usize = 64;
/// TCP clients at the same time.
const CLIENTS: usize = 64;

/// Places that are taken while something is under way.
pub(super) struct Room {
    familiar: Arc<Semaphore>,
    others: Arc<Semaphore>,
    clients: Arc<Semaphore>,
}

impl Default for Room {
    fn default() -> Self {
        let places = |count| Arc::new(Semaphore::new(count));
        Self { familiar: places(LOOKUPS), others: places(LOOKUPS), clients: places(CLIENTS) }
    }
}

impl Room {
    /// A place for the lookup of a name that is written down or has been answered for, where there is one.
    pub(super) fn for_familiar(&self) -> Option<OwnedSemaphorePermit> {
        self.familiar.clone().try_acquire_owned().ok()
    }

    /// A place for any other lookup, where there is one.
    pub(super) fn for_lookup(&self) -> Option<OwnedSemaphorePermit> {
        self.others.clone().try_acquire_owned().ok()
    }

    /// A place for a TCP client, where there is one.
    pub(super) fn for_client(&self) -> Option<OwnedSemaphorePermit> {
        self.clients.clone().try_acquire_owned().ok()
    }
}
