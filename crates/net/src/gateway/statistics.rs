//! What a sandbox used so far.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More hosts than this are counted together: names come from inside, and are without number.
const MOST_HOSTS: usize = 1024;

/// What a sandbox used so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Connections that are open now.
    pub live: u64,
    /// All hosts together.
    pub total: HostStatistics,
    /// By host, in order of name; the first 1024 that were met.
    pub hosts: Vec<(String, HostStatistics)>,
}

/// What was used toward one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostStatistics {
    /// Connections that were let through and are over.
    pub connections: u64,
    /// Requests that were seen.
    pub requests: u64,
    /// Connections and requests that were refused.
    pub refused: u64,
    /// Connections that were let through and failed.
    pub failed: u64,
    /// Bytes from inside to outside, of connections that are over.
    pub sent: u64,
    /// Bytes from outside to inside, of connections that are over.
    pub received: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    total: HostStatistics,
    hosts: HashMap<String, HostStatistics>,
}

impl Counts {
    pub(super) fn add(&self, host: &str, change: impl Fn(&mut HostStatistics)) {
        let mut table = self.table();
        change(&mut table.total);
        if let Some(known) = table.hosts.get_mut(host) {
            change(known);
        } else if table.hosts.len() < MOST_HOSTS {
            change(table.hosts.entry(host.to_owned()).or_default());
        }
    }

    pub(super) fn snapshot(&self, live: usize) -> Statistics {
        let table = self.table();
        let mut hosts: Vec<_> = table.hosts.iter().map(|(host, counts)| (host.clone(), *counts)).collect();
        hosts.sort_by(|one, other| one.0.cmp(&other.0));
        Statistics { live: live as u64, total: table.total, hosts }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
