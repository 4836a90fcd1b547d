//! Requests that wait for an answer.

use super::input::ToolInput;
use super::permission::PermissionRequest;
use crate::grants::Given;
use std::collections::VecDeque;

/// Requests that are kept; older ones were left unanswered for good.
pub(super) const MOST: usize = 64;

/// A request, and everything that following an answer needs. This is what counts, whatever a copy of the
/// request says that went around the world.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) request: PermissionRequest,
    /// What was refused.
    pub(super) given: Given,
    /// The call that was refused it.
    pub(super) input: ToolInput,
    /// What was allowed for that very call before.
    pub(super) once: Vec<Given>,
}

/// Those that wait, oldest first.
#[derive(Debug, Default)]
pub(super) struct Waiting(VecDeque<Pending>);

impl Waiting {
    pub(super) fn add(&mut self, pending: Pending) {
        self.0.push_back(pending);
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    /// Takes one out: what was answered is over.
    pub(super) fn take(&mut self, id: &str) -> Option<Pending> {
        let at = self.0.iter().position(|pending| pending.request.id == id)?;
        self.0.remove(at)
    }

    pub(super) fn requests(&self) -> Vec<PermissionRequest> {
        self.0.iter().map(|pending| pending.request.clone()).collect()
    }
}
