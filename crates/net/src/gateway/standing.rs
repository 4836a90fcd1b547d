//! What passes on a connection, judged anew whenever the plan changes.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stockade_policy::NetJudge;
use tokio::sync::Notify;

/// Says whether something that passes could be begun under this judge.
type Still = Box<dyn Fn(&NetJudge) -> bool + Send + Sync>;

/// An end that somebody else decides on.
#[derive(Debug, Default)]
pub(super) struct Ending {
    ended: AtomicBool,
    notify: Notify,
}

impl Ending {
    /// Waits for it.
    pub(super) async fn wait(&self) {
        let notified = self.notify.notified();
        let mut notified = std::pin::pin!(notified);
        // Registered before the flag is read, so that no end falls in between.
        notified.as_mut().enable();
        if !self.ended.load(Ordering::Acquire) {
            notified.await;
        }
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.notify.notify_waiters();
    }
}

/// What passes on a connection: requests that are seen, or bytes that are not.
#[derive(Default)]
pub(super) struct Standing(Mutex<Passing>);

#[derive(Default)]
struct Passing {
    next: u64,
    requests: HashMap<u64, (Arc<Ending>, Still)>,
    /// Bytes that nobody looks at, with what they were let through by.
    unseen: Option<Still>,
}

impl Standing {
    /// A request is under way from now on. Whoever tells of it judges it afterwards, so that no change of
    /// plan falls in between.
    pub(super) fn request(
        &self,
        ending: &Arc<Ending>,
        still: impl Fn(&NetJudge) -> bool + Send + Sync + 'static,
    ) -> u64 {
        let mut passing = self.passing();
        passing.next += 1;
        let number = passing.next;
        passing.requests.insert(number, (Arc::clone(ending), Box::new(still)));
        number
    }

    /// A request is over.
    pub(super) fn over(&self, number: u64) {
        self.passing().requests.remove(&number);
    }

    /// From now on bytes pass unseen, or no longer.
    pub(super) fn unseen(&self, still: Option<Still>) {
        self.passing().unseen = still;
    }

    /// Ends the requests that this judge refuses. Whether unseen bytes, where there are any, may go on.
    pub(super) fn judge(&self, judge: &NetJudge) -> bool {
        let passing = self.passing();
        for (ending, still) in passing.requests.values() {
            if !still(judge) {
                ending.end();
            }
        }
        passing.unseen.as_ref().is_none_or(|still| still(judge))
    }

    fn passing(&self) -> MutexGuard<'_, Passing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Standing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Standing").field("requests", &self.passing().requests.len()).finish_non_exhaustive()
    }
}
