//! The live connections of a sandbox.

use super::standing::{Ending, Standing};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stockade_policy::{Protocol, Target};

/// One live connection, as far as a change of policy has to know it.
#[derive(Debug)]
pub(super) struct Entry {
    id: u64,
    pub(super) target: Target,
    pub(super) via: crate::Via,
    pub(super) grant: Grant,
    pub(super) ending: Arc<Ending>,
    pub(super) standing: Standing,
    known: Mutex<Known>,
    /// Everything the client will ever say has been passed on.
    drained: AtomicBool,
}

/// What turns out about a connection while it lives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// What is spoken on it.
    pub(super) spoken: Option<Protocol>,
    /// The target's own address, where that was dialled.
    pub(super) address: Option<IpAddr>,
}

/// What a connection was let in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// A rule of the plan.
    Rule,
    /// A person who was asked.
    Person,
    /// A port that the plan names.
    Port,
}

impl Entry {
    /// Waits until this connection must end.
    pub(super) async fn closed(&self) {
        self.ending.wait().await;
    }

    pub(super) fn close(&self) {
        self.ending.end();
    }

    pub(super) fn drained(&self) {
        self.drained.store(true, Ordering::Relaxed);
    }

    pub(super) fn learn(&self, learn: impl FnOnce(&mut Known)) {
        learn(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn known(&self) -> Known {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The live connections of a sandbox.
#[derive(Debug, Default)]
pub(super) struct Registry {
    next: AtomicU64,
    live: Mutex<HashMap<u64, Arc<Entry>>>,
}

impl Registry {
    pub(super) fn enter(
        &self,
        target: Target,
        via: crate::Via,
        spoken: Option<Protocol>,
        grant: Grant,
    ) -> Arc<Entry> {
        let entry = Arc::new(Entry {
            id: self.next.fetch_add(1, Ordering::Relaxed),
            target,
            via,
            grant,
            ending: Arc::default(),
            standing: Standing::default(),
            known: Mutex::new(Known { spoken, address: None }),
            drained: AtomicBool::new(false),
        });
        self.live().insert(entry.id, Arc::clone(&entry));
        entry
    }

    pub(super) fn leave(&self, entry: &Entry) {
        self.live().remove(&entry.id);
    }

    pub(super) fn all(&self) -> Vec<Arc<Entry>> {
        self.live().values().cloned().collect()
    }

    /// Whether some client's words are still on their way.
    pub(super) fn is_busy(&self) -> bool {
        self.live().values().any(|entry| !entry.drained.load(Ordering::Relaxed))
    }

    pub(super) fn len(&self) -> usize {
        self.live().len()
    }

    fn live(&self) -> MutexGuard<'_, HashMap<u64, Arc<Entry>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
