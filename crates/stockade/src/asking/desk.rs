//! The one place where questions of all runs come together: joined, limited, timed.

use super::rate::Rate;
use super::{AskNotice, Question, SharedAsker, visible};
use crate::grants::{Given, GrantError, GrantStore, is_grantable};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use stockade_policy::{Ask, Reply, Violation, ViolationKind};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// How long an answer is waited for where nobody says otherwise.
pub(crate) const ASK_TIMEOUT: Duration = Duration::from_secs(120);
/// Questions that may be open at once.
const MOST_OPEN: usize = 16;

/// Puts questions to an asker.
#[derive(Debug)]
pub(crate) struct Desk {
    asker: SharedAsker,
    grants: GrantStore,
    timeout: Duration,
    open: Mutex<HashMap<Key, Weak<Open>>>,
    rate: Mutex<Rate>,
    unasked: AtomicU64,
    limit_told: AtomicBool,
}

/// Acts that one answer is for. Names that are not text share their spelling with others, so that each of
/// them is a question of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    kind: ViolationKind,
    subject: String,
    apart: Option<u64>,
}

/// A question that was put. When nobody waits for it any more it is withdrawn.
#[derive(Debug)]
struct Open {
    answer: watch::Receiver<Option<Reply>>,
    task: AbortHandle,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Desk {
    pub(crate) fn new(asker: SharedAsker, grants: GrantStore, timeout: Duration) -> Self {
        Self {
            asker,
            grants,
            timeout,
            open: Mutex::default(),
            rate: Mutex::new(Rate::new(Instant::now())),
            unasked: AtomicU64::new(0),
            limit_told: AtomicBool::new(false),
        }
    }

    /// How many acts were refused because there were too many questions.
    pub(crate) fn unasked(&self) -> u64 {
        self.unasked.load(Ordering::Relaxed)
    }

    /// Asks as often as it has to.
    #[cfg(test)]
    pub(super) fn be_generous(&self) {
        *lock(&self.rate) = Rate::generous(Instant::now());
    }

    /// The answer to one held call.
    pub(crate) async fn answer(self: Arc<Self>, ask: Ask) -> Reply {
        let violation = &ask.violation;
        if !is_grantable(violation.rule.as_ref()) {
            return Reply::Deny;
        }
        if self.grants.allows(violation.kind, &violation.subject) {
            return Reply::Session;
        }
        let Some(open) = self.join_or_put(ask) else {
            self.unasked.fetch_add(1, Ordering::Relaxed);
            if !self.limit_told.swap(true, Ordering::Relaxed) {
                self.asker.0.notice(AskNotice::Limited);
            }
            return Reply::Deny;
        };
        let mut answer = open.answer.clone();
        loop {
            if let Some(reply) = *answer.borrow_and_update() {
                return reply;
            }
            // The asker panicked.
            if answer.changed().await.is_err() {
                return Reply::Deny;
            }
        }
    }

    /// The question about this subject, put now or earlier; `None` when there are too many.
    fn join_or_put(self: &Arc<Self>, ask: Ask) -> Option<Arc<Open>> {
        let given = Given::about(&ask.violation);
        let mut open = lock(&self.open);
        open.retain(|_, open| open.strong_count() > 0);
        let key = Key {
            kind: given.kind,
            subject: given.subject.clone(),
            apart: (!given.is_exact()).then_some(ask.id),
        };
        if let Some(same) = open.get(&key).and_then(Weak::upgrade) {
            return Some(same);
        }
        if open.len() >= MOST_OPEN || !lock(&self.rate).admit(Instant::now()) {
            return None;
        }
        let (tell, answer) = watch::channel(None);
        let (desk, at) = (Arc::clone(self), key.clone());
        let question = self.question(ask);
        let task = tokio::spawn(async move {
            let reply = desk.put(question).await;
            // Who asks from now on finds the grant, or is a new question.
            lock(&desk.open).remove(&at);
            let _ = tell.send(Some(reply));
        });
        let put = Arc::new(Open { answer, task: task.abort_handle() });
        open.insert(key, Arc::downgrade(&put));
        Some(put)
    }

    fn question(&self, ask: Ask) -> Question {
        let keepable = Given::about(&ask.violation).keepable().is_ok();
        Question {
            id: ask.id,
            display: visible(&ask.violation.subject).into_owned(),
            settings: self.grants.settings().filter(|_| keepable).map(Into::into),
            violation: ask.violation,
            reason: ask.reason,
            deadline: Instant::now() + self.timeout,
        }
    }

    /// Waits for the answer and does what it says.
    async fn put(&self, question: Question) -> Reply {
        let given = Given {
            who: self.asker.0.name(),
            why: why(&question.violation),
            ..Given::about(&question.violation)
        };
        let asked = tokio::time::timeout(self.timeout, self.asker.0.ask(question));
        match asked.await.unwrap_or(Reply::Deny) {
            Reply::Deny => Reply::Deny,
            // Many names are spelled like this one.
            _ if !given.is_exact() => Reply::Once,
            reply => self.give(given, reply).await,
        }
    }

    async fn give(&self, given: Given, reply: Reply) -> Reply {
        match self.kept(given.clone(), reply).await {
            Ok(()) => reply,
            Err(error @ (GrantError::Forbidden { .. } | GrantError::Over)) => {
                self.asker.0.notice(AskNotice::NotGiven(error));
                Reply::Deny
            }
            // What cannot be kept was still allowed.
            Err(error) => {
                let less = self.kept(given, Reply::Session).await;
                self.asker.0.notice(AskNotice::NotKept(error));
                if less.is_ok() { Reply::Session } else { Reply::Deny }
            }
        }
    }

    /// Gives the grant. Files are written on a thread that may wait for them.
    async fn kept(&self, given: Given, reply: Reply) -> Result<(), GrantError> {
        if !matches!(reply, Reply::Always | Reply::Until { .. }) {
            return self.grants.give(&given, reply).map(drop);
        }
        let grants = self.grants.clone();
        match tokio::task::spawn_blocking(move || grants.give(&given, reply)).await {
            Ok(result) => result.map(drop),
            Err(_) => Err(GrantError::NoPlace),
        }
    }
}

/// What a grant is said to have been given for.
fn why(violation: &Violation) -> String {
    match &violation.program {
        Some(program) => format!("{program}, in: {}", violation.command),
        None => violation.command.clone(),
    }
}

/// Nothing is done under these locks that could leave their content half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
