//! One request and its answer on a connection whose requests can be seen.

use super::admitted::Admitted;
use super::meter::Direction;
use super::places::Place;
use super::registry::Entry;
use super::standing::Ending;
use super::ward::Ward;
use crate::{NetRecord, Verdict};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;
use stockade_policy::{Allowance, NetJudge, Target};

/// One request and its answer. Dropping it writes its record, in place of the connection's.
///
/// Owns what it needs, so that the body of an answer can carry it to its end.
#[derive(Debug)]
pub(crate) struct Exchange {
    ward: Arc<Ward>,
    entry: Arc<Entry>,
    /// Its number among the requests of the connection.
    number: u64,
    ending: Arc<Ending>,
    target: Target,
    via: crate::Via,
    allowance: Allowance,
    peer: Option<SocketAddr>,
    dialled: Arc<OnceLock<SocketAddr>>,
    request: (String, String),
    status: AtomicU16,
    verdict: Mutex<Verdict>,
    sent: AtomicU64,
    received: AtomicU64,
    started: Instant,
    /// Its place among the requests under way.
    place: Mutex<Option<Place>>,
}

impl Admitted {
    /// A request was seen on this connection. The path is without its query: that may hold secrets. Where
    /// the plan changes and `still` says no, the request ends, and others on the connection go on.
    pub(crate) fn exchange(
        &self,
        (method, path): (&str, &str),
        still: impl Fn(&NetJudge) -> bool + Send + Sync + 'static,
    ) -> Exchange {
        self.begin((method, path), Arc::default(), still)
    }

    /// The same where the connection ends with it.
    pub(crate) fn only_exchange(
        &self,
        (method, path): (&str, &str),
        still: impl Fn(&NetJudge) -> bool + Send + Sync + 'static,
    ) -> Exchange {
        self.begin((method, path), Arc::clone(&self.entry().ending), still)
    }

    fn begin(
        &self,
        (method, path): (&str, &str),
        ending: Arc<Ending>,
        still: impl Fn(&NetJudge) -> bool + Send + Sync + 'static,
    ) -> Exchange {
        self.itemise();
        Exchange {
            ward: Arc::clone(self.ward()),
            entry: Arc::clone(self.entry()),
            number: self.entry().standing.request(&ending, still),
            ending,
            target: self.target.clone(),
            via: self.via,
            allowance: self.allowance.clone(),
            peer: self.peer(),
            dialled: Arc::clone(self.dialled()),
            request: (method.to_owned(), path.to_owned()),
            status: AtomicU16::new(0),
            verdict: Mutex::new(Verdict::Allowed),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            started: Instant::now(),
            place: Mutex::default(),
        }
    }
}

impl Exchange {
    /// Takes a place until it is over.
    pub(crate) fn hold(&self, place: Place) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    /// What follows is no request any more, however long it takes.
    pub(crate) fn leave(&self) {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Waits until the plan has changed and this request must end.
    pub(crate) async fn closed(&self) {
        self.ending.wait().await;
    }

    /// The status of the answer.
    pub(crate) fn answered(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
    }

    /// It was refused, or the other side could not be reached.
    pub(crate) fn ended(&self, verdict: Verdict) {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = verdict;
    }

    /// Bytes of this request. The connection's meter counts them besides.
    pub(crate) fn count(&self, bytes: usize, direction: Direction) {
        let counter = match direction {
            Direction::Sent => &self.sent,
            Direction::Received => &self.received,
        };
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.entry.standing.over(self.number);
        let verdict = *self.verdict.get_mut().unwrap_or_else(PoisonError::into_inner);
        if verdict == Verdict::Refused {
            self.ward.count_refused(&self.target);
        }
        let status = self.status.load(Ordering::Relaxed);
        self.ward.witness().record(NetRecord {
            peer: self.peer,
            via: self.via,
            target: self.target.to_string(),
            address: self.dialled.get().copied(),
            request: Some(std::mem::take(&mut self.request)),
            status: (status != 0).then_some(status),
            verdict,
            rule: Some(self.allowance.rule.clone()),
            reason: None,
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            duration_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
    }
}
