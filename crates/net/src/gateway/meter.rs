//! What one connection uses, counted and kept within limits.

use super::admit::refusal;
use super::allotment::{Allotment, Limit};
use super::ward::Ward;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};
use stockade_policy::{Cause, NetRefusal, RuleRef, Target, ViolationKind};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From inside to outside.
    Sent,
    /// From outside to inside.
    Received,
}

/// A limit was reached; whoever is to know has been told. The connection must end.
#[derive(Clone, Debug)]
pub(crate) struct LimitReached {
    /// Which.
    pub(crate) refusal: Box<NetRefusal>,
}

impl From<LimitReached> for io::Error {
    fn from(reached: LimitReached) -> Self {
        Self::other(reached.refusal.reason)
    }
}

/// What one connection uses.
#[derive(Debug)]
pub(crate) struct Meter {
    ward: Weak<Ward>,
    target: Target,
    rule: RuleRef,
    of_rule: Arc<Allotment>,
    of_sandbox: Arc<Allotment>,
    /// The rule of another host that is named on the connection, and what that may still use.
    of_named: RwLock<Option<(RuleRef, Arc<Allotment>)>>,
    sent: AtomicU64,
    received: AtomicU64,
    told: AtomicBool,
}

impl Meter {
    pub(super) fn new(
        ward: Weak<Ward>,
        target: Target,
        rule: RuleRef,
        of_rule: Arc<Allotment>,
        of_sandbox: Arc<Allotment>,
    ) -> Self {
        let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
        let (of_named, told) = (RwLock::default(), AtomicBool::new(false));
        Self { ward, target, rule, of_rule, of_sandbox, of_named, sent, received, told }
    }

    /// From now on everything counts for this rule, too.
    pub(super) fn named(&self, rule: Option<(RuleRef, Arc<Allotment>)>) {
        let rule = rule.filter(|(rule, _)| *rule != self.rule);
        *self.of_named.write().unwrap_or_else(PoisonError::into_inner) = rule;
    }

    /// Counts bytes that were read and are about to be passed on; waits as long as the rate demands.
    ///
    /// An error means that they must not be passed on, and that the connection ends.
    pub(crate) async fn take(&self, bytes: usize, direction: Direction) -> Result<(), LimitReached> {
        if let Some(wait) = self.count(bytes, direction)? {
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }

    /// Counts bytes; how long they have to wait before they go on, where they have to.
    pub(crate) fn count(&self, bytes: usize, direction: Direction) -> Result<Option<Duration>, LimitReached> {
        let bytes = bytes as u64;
        let of_rule = self.of_rule.bytes(bytes).map_err(|limit| self.reached(limit, Some(&self.rule)))?;
        let of_named = self.with_named(|named| named.bytes(bytes))?.flatten();
        let of_sandbox = self.of_sandbox.bytes(bytes).map_err(|limit| self.reached(limit, None))?;
        let counter = match direction {
            Direction::Sent => &self.sent,
            Direction::Received => &self.received,
        };
        counter.fetch_add(bytes, Ordering::Relaxed);
        Ok(of_rule.max(of_named).max(of_sandbox))
    }

    /// Counts one request, or a connection whose requests cannot be seen.
    pub(crate) fn request(&self) -> Result<(), LimitReached> {
        let now = Instant::now();
        self.of_sandbox.request(now).map_err(|limit| self.reached(limit, None))?;
        self.with_named(|named| named.request(now))?;
        self.of_rule.request(now).map_err(|limit| self.reached(limit, Some(&self.rule)))
    }

    /// Counts a connection to the server beyond the one that was let in.
    pub(super) fn connection(&self) -> Result<(), LimitReached> {
        let now = Instant::now();
        self.of_sandbox.connection(now).map_err(|limit| self.reached(limit, None))?;
        self.with_named(|named| named.connection(now))?;
        self.of_rule.connection(now).map_err(|limit| self.reached(limit, Some(&self.rule)))
    }

    fn with_named<T>(
        &self,
        count: impl FnOnce(&Allotment) -> Result<T, Limit>,
    ) -> Result<Option<T>, LimitReached> {
        match &*self.of_named.read().unwrap_or_else(PoisonError::into_inner) {
            Some((rule, named)) => count(named).map(Some).map_err(|limit| self.reached(limit, Some(rule))),
            None => Ok(None),
        }
    }

    /// Bytes sent and received so far.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed))
    }

    fn reached(&self, limit: Limit, rule: Option<&RuleRef>) -> LimitReached {
        let refusal = limit_refusal(&self.target, limit, rule);
        // Both directions of a connection run into the same total; one violation says it.
        let first = !self.told.swap(true, Ordering::Relaxed)
            || matches!(limit, Limit::Requests(_) | Limit::Connections(_));
        match self.ward.upgrade() {
            Some(ward) if first => LimitReached { refusal: ward.refuse(refusal).refusal },
            _ => LimitReached { refusal: Box::new(refusal) },
        }
    }
}

/// A refusal because of a limit, of a rule or of the whole sandbox.
pub(super) fn limit_refusal(target: &Target, limit: Limit, rule: Option<&RuleRef>) -> NetRefusal {
    let whose = if rule.is_some() { "this rule" } else { "the sandbox" };
    let reason = match limit {
        Limit::Connections(most) => format!("{whose} may make {most} connections in one second"),
        Limit::Requests(most) => format!("{whose} may make {most} requests in one minute"),
        Limit::TotalBytes(most) => format!("{whose} may send and receive {most} bytes altogether"),
    };
    NetRefusal { kind: ViolationKind::Limit, ..refusal(target, Cause::Limit, reason, rule.cloned()) }
}
