//! The audit log as a runtime uses it.

use super::{Faults, RecordFault};
use crate::{AuditError, AuditEvent, AuditLog};
use std::sync::Arc;

/// The log, and what it means when it cannot be written.
#[derive(Debug)]
pub(crate) struct Journal {
    log: AuditLog,
    demand: Demand,
    faults: Arc<Faults>,
}

/// Whether things may happen that are not in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    Wished,
    Required,
}

/// Whether a line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    Yes,
    /// The fault will be told.
    No,
}

impl Journal {
    pub(crate) fn new(log: AuditLog, demand: Demand, faults: Arc<Faults>) -> Self {
        Self { log, demand, faults }
    }

    /// Writes a line. An error means that what it is about must not happen.
    pub(crate) fn note(&self, event: &AuditEvent) -> Result<Noted, AuditError> {
        match (self.log.append(event), self.demand) {
            (Ok(_), _) => Ok(Noted::Yes),
            (Err(error), Demand::Required) => Err(error),
            (Err(error), Demand::Wished) => {
                self.faults.add(RecordFault::Audit(error));
                Ok(Noted::No)
            }
        }
    }

    /// Writes a line about something that nobody can undo.
    pub(crate) fn tell(&self, event: &AuditEvent) {
        if let Err(error) = self.note(event) {
            self.faults.add(RecordFault::Audit(error));
        }
    }
}
