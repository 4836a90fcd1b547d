//! What went wrong with records, for whoever wants to know.

use crate::{AuditError, StoreError};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Something that is not on record. The command itself ran as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFault {
    /// A decision is not in the audit log. Told once, however many are missing.
    #[error("not everything is in the audit log: {0}")]
    Audit(AuditError),
    /// Refusals are not in the store.
    #[error("what was refused is not in the store: {0}")]
    Store(StoreError),
    /// The store was damaged; a new one was begun.
    #[error("the store of refusals was damaged; it lies in {} now, and a new one was begun", aside.display())]
    SetAside {
        /// Where the damaged one lies.
        aside: PathBuf,
    },
}

/// Faults nobody has heard of yet.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Vec<RecordFault>>);

impl Faults {
    pub(crate) fn add(&self, fault: RecordFault) {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |known: &RecordFault| matches!((known, &fault), (RecordFault::Audit(_), RecordFault::Audit(_)));
        if !faults.iter().any(same) {
            faults.push(fault);
        }
    }

    pub(crate) fn take(&self) -> Vec<RecordFault> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
