//! How much the resolver does at once.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lookups on the host at the same time. Each holds a thread for as long as the host's resolver takes.
const LOOKUPS: usize = 64;
/// TCP clients at the same time.
const CLIENTS: usize = 64;

/// Places that are taken while something is under way.
pub(super) struct Room {
    lookups: Arc<Semaphore>,
    clients: Arc<Semaphore>,
}

impl Default for Room {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(LOOKUPS)), clients: Arc::new(Semaphore::new(CLIENTS)) }
    }
}

impl Room {
    /// A place for a lookup, where there is one.
    pub(super) fn for_lookup(&self) -> Option<OwnedSemaphorePermit> {
        self.lookups.clone().try_acquire_owned().ok()
    }

    /// A place for a TCP client, where there is one.
    pub(super) fn for_client(&self) -> Option<OwnedSemaphorePermit> {
        self.clients.clone().try_acquire_owned().ok()
    }
}
