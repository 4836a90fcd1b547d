//! Where the records of a runtime go.

use super::journal::{Demand, Journal};
use super::recorder::Recorder;
use super::{Faults, RecordFault};
use crate::{AuditLog, IgnoreList, Retention, ViolationStore, private};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stockade_policy::{AuditMode, Policy};

/// Where records are kept. The list of workspaces that commands have worked in is none: it stays in the user's
/// state directory, where every runtime looks for it. Only a runtime whose records go nowhere does not make that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Records {
    /// In the user's state directory, where `stockade violations` and `stockade audit` look.
    #[default]
    Standard,
    /// In this directory. It is hidden from commands like every other directory of Stockade's own.
    In(PathBuf),
    /// Nowhere. Settings that require an audit log then cannot be followed.
    Nowhere,
}

/// The store and the log of one runtime.
#[derive(Debug)]
pub(crate) struct Keeper {
    store: Option<ViolationStore>,
    journal: Option<Arc<Journal>>,
    ignore: IgnoreList,
    faults: Arc<Faults>,
}

impl Keeper {
    /// Keeps what the policy wants kept in a directory, or nothing.
    pub(crate) fn new(place: Option<&Path>, policy: &Policy) -> Self {
        let rules = policy.violations();
        let faults = Arc::new(Faults::default());
        let demand = match policy.audit() {
            AuditMode::Off => None,
            AuditMode::On => Some(Demand::Wished),
            AuditMode::Required => Some(Demand::Required),
        };
        let journal = place.zip(demand).map(|(place, demand)| {
            // A mask can only be laid over what is there when the sandbox is planned. Should this fail, so
            // will the first line, which says why.
            let _ = private::directory(place);
            Arc::new(Journal::new(AuditLog::new(place), demand, Arc::clone(&faults)))
        });
        let retention = Retention { days: rules.keep_days, rows: rules.keep_rows, ..Retention::default() };
        Self {
            store: place.map(|place| ViolationStore::new(place).retention(retention)),
            journal,
            ignore: IgnoreList::of(rules),
            faults,
        }
    }

    /// The audit log, where one is kept.
    pub(crate) fn journal(&self) -> Option<&Arc<Journal>> {
        self.journal.as_ref()
    }

    /// What is hidden where refusals are shown.
    pub(crate) fn ignored(&self) -> &IgnoreList {
        &self.ignore
    }

    /// What went wrong since the last look.
    pub(crate) fn faults(&self) -> Vec<RecordFault> {
        self.faults.take()
    }

    pub(super) fn fault(&self, fault: RecordFault) {
        self.faults.add(fault);
    }

    pub(super) fn store(&self) -> Option<&ViolationStore> {
        self.store.as_ref()
    }

    /// The records of one run.
    pub(crate) fn recorder(self: &Arc<Self>) -> Recorder {
        Recorder::new(Arc::clone(self))
    }
}
