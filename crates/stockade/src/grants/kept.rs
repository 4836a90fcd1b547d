//! What stands in `grants.json`, the list of grants that outlive a process.

use super::grant::Grant;
use serde::{Deserialize, Serialize};

/// The content of the list.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    /// How many ids were given away: none is used twice.
    #[serde(default)]
    given: u64,
    pub(super) grants: Vec<Grant>,
}

impl Kept {
    /// An id nobody has had.
    pub(super) fn next_id(&mut self) -> String {
        self.given += 1;
        format!("g{}", self.given)
    }

    /// Without what has ended.
    pub(super) fn prune(&mut self, now: u64) {
        self.grants.retain(|grant| grant.lasts(now));
    }
}
