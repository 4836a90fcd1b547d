//! A connection that was let in: what it may use, and what will be told about it.

use super::admit::{in_words, refusal};
use super::meter::Meter;
use super::places::Place;
use super::registry::{Entry, Grant};
use super::ward::Ward;
use crate::dial::Upstream;
use crate::peer::peer;
use crate::{NetRecord, Verdict, Via};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;
use stockade_policy::{
    Allowance, Cause, DomainPattern, DomainRule, Host, HostPattern, NetJudge, NetRefusal, Protocol, Target,
    ViolationKind,
};

/// What somebody inside wants.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Where to.
    pub(crate) target: Target,
    /// How it came to the gateway.
    pub(crate) via: Via,
    /// What is known about its protocol.
    pub(crate) spoken: Option<Protocol>,
}

/// It may not be done; whoever is to know has been told.
#[derive(Clone, Debug)]
pub(crate) struct Denied {
    /// Why.
    pub(crate) refusal: Box<NetRefusal>,
}

/// A connection that was let in. Dropping it ends its record.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// Where to.
    pub(crate) target: Target,
    /// How it came to the gateway.
    pub(crate) via: Via,
    /// The rule that let it in, and its limits.
    pub(crate) allowance: Allowance,
    ward: Arc<Ward>,
    meter: Arc<Meter>,
    entry: Arc<Entry>,
    /// Who is at the inner end.
    peer: Option<SocketAddr>,
    started: Instant,
    /// A connection made ahead of time, for whoever dials next.
    ready: Mutex<Option<Upstream>>,
    verdict: Mutex<(Verdict, Option<String>)>,
    /// What was dialled; requests that began before that want to know, too.
    dialled: Arc<OnceLock<SocketAddr>>,
    /// Whether its requests are recorded one by one.
    itemised: AtomicBool,
    /// Whether the connection to the server that was counted when it was let in has been begun.
    begun: AtomicBool,
}

impl Admitted {
    pub(super) fn new(
        ward: Arc<Ward>,
        wanted: Wanted,
        allowance: Allowance,
        meter: Arc<Meter>,
        entry: Arc<Entry>,
    ) -> Self {
        Self {
            target: wanted.target,
            via: wanted.via,
            allowance,
            ward,
            meter,
            entry,
            peer: peer(),
            started: Instant::now(),
            ready: Mutex::new(None),
            verdict: Mutex::new((Verdict::Allowed, None)),
            dialled: Arc::default(),
            itemised: AtomicBool::new(false),
            begun: AtomicBool::new(false),
        }
    }

    /// What somebody inside wanted when it was let in, as a request.
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted { target: self.target.clone(), via: self.via, spoken: Some(Protocol::Http) }
    }

    /// What it may use, and has used.
    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// What passes from now on names another host than was connected to, which this allows: it counts for its
    /// limits, too.
    pub(crate) fn names(&self, allowance: Option<&Allowance>) {
        let named =
            allowance.map(|named| (named.rule.clone(), self.ward.allotment(&named.rule, named.limits)));
        self.meter.named(named);
    }

    /// Waits until the policy has changed and this connection must end.
    pub(crate) async fn closed(&self) {
        self.entry.closed().await;
    }

    /// Refuses what was let in before more was known about it. The record will say so.
    pub(crate) fn refuse(&self, refusal: NetRefusal) -> Denied {
        self.ends(Verdict::Refused, Some(in_words(&refusal)));
        self.ward.refuse(refusal)
    }

    /// Counts a connection to the server that is about to be made. Being let in has counted for the first; requests
    /// with bodies take one each, and would be a way around the limit.
    pub(crate) fn dials(&self) -> Result<(), Denied> {
        if !self.begun.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.meter.connection().map_err(|reached| Denied { refusal: reached.refusal })
    }

    /// A place for a socket toward a server. Where there is none before long it is refused, and a crowd is
    /// told of once.
    pub(crate) async fn place(&self) -> Result<Place, Denied> {
        let places = &self.ward.servers;
        if let Some(place) = places.wait().await {
            return Ok(place);
        }
        let reason = format!("a sandbox may have {} connections to servers at once", places.most());
        let crowded =
            NetRefusal { kind: ViolationKind::Limit, ..refusal(&self.target, Cause::Limit, reason, None) };
        if places.is_news() {
            return Err(self.refuse(crowded));
        }
        self.limited(&crowded);
        Err(Denied { refusal: Box::new(crowded) })
    }

    /// A limit keeps it from going on; whoever is to know has been told.
    pub(crate) fn limited(&self, refusal: &NetRefusal) {
        self.ends(Verdict::Refused, Some(in_words(refusal)));
    }

    /// Everything the client will ever say has been passed on.
    pub(crate) fn drained(&self) {
        self.entry.drained();
    }

    /// The other side could not be reached.
    pub(crate) fn failed(&self) {
        self.ends(Verdict::Failed, None);
    }

    /// What was dialled: the target, or a proxy that leads there.
    pub(crate) fn reached(&self, address: Option<SocketAddr>) {
        if let Some(address) = address {
            // Where several connections serve its requests, the first is told.
            self.dialled.get_or_init(|| address);
        }
    }

    /// The target's own address was dialled; another plan may refuse it.
    pub(crate) fn reached_target(&self, address: Option<SocketAddr>) {
        self.reached(address);
        self.entry.learn(|known| known.address = address.map(|address| address.ip()));
    }

    /// What is spoken has turned out; another plan may refuse it.
    pub(crate) fn speaks(&self, protocol: Protocol) {
        self.entry.learn(|known| known.spoken = Some(protocol));
    }

    /// Ends the connection where a change of plan fell between its judgement and its being known here.
    pub(crate) fn judged_by(&self, judge: &Arc<NetJudge>) {
        let now = self.ward.judge();
        if !Arc::ptr_eq(judge, &now) && !self.ward.still_allowed(&now, &self.entry) {
            self.entry.close();
        }
    }

    /// From now on what passes is not looked at. Ends the connection, now or when the plan changes, where
    /// `still` says that it could not be begun under the plan as of then.
    pub(crate) fn passes_unseen(&self, still: impl Fn(&NetJudge) -> bool + Send + Sync + 'static) {
        self.entry.standing.unseen(Some(Box::new(still)));
        // The plan may have changed since it was let through.
        if !self.entry.standing.judge(&self.ward.judge()) {
            self.entry.close();
        }
    }

    /// What passes is looked at after all.
    pub(crate) fn passes_seen(&self) {
        self.entry.standing.unseen(None);
    }

    /// The judge of this connection as of now: where a person let it in, one that knows of that.
    pub(crate) fn judge(&self) -> Arc<NetJudge> {
        let judge = self.ward.judge();
        match self.entry.grant {
            Grant::Rule | Grant::Port => judge,
            Grant::Person => Arc::new(with_grant(&judge, &self.target, &self.allowance)),
        }
    }

    /// Keeps a connection for whoever dials next.
    pub(crate) fn keep(&self, upstream: Upstream) {
        *self.ready.lock().unwrap_or_else(PoisonError::into_inner) = Some(upstream);
    }

    /// The connection that was made ahead of time.
    pub(crate) fn ready(&self) -> Option<Upstream> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The buffers of its sandbox.
    pub(crate) fn buffers(&self) -> &crate::relay::Buffers {
        self.ward.buffers()
    }

    pub(super) fn ward(&self) -> &Arc<Ward> {
        &self.ward
    }

    pub(super) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    pub(super) fn dialled(&self) -> &Arc<OnceLock<SocketAddr>> {
        &self.dialled
    }

    pub(super) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// From now on each request has a record of its own, and the connection none.
    pub(super) fn itemise(&self) {
        self.itemised.store(true, Ordering::Relaxed);
    }

    fn ends(&self, verdict: Verdict, reason: Option<String>) {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = (verdict, reason);
    }
}

/// The judge of a plan to which this target was added.
fn with_grant(judge: &NetJudge, target: &Target, allowance: &Allowance) -> NetJudge {
    let host = match &target.host {
        Host::Name(name) => HostPattern::Name(name.clone()),
        Host::Address(address) => HostPattern::Address(*address),
    };
    let mut plan = judge.plan().clone();
    plan.allowed.push(DomainRule {
        pattern: DomainPattern { host, port: Some(target.port) },
        reason: None,
        limits: allowance.limits,
        rule: allowance.rule.clone(),
    });
    NetJudge::new(Arc::new(plan))
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.ward.forget(&self.entry);
        let (verdict, reason) = std::mem::replace(
            self.verdict.get_mut().unwrap_or_else(PoisonError::into_inner),
            (Verdict::Allowed, None),
        );
        self.ward.count_end(&self.target, &self.meter, verdict);
        if self.itemised.load(Ordering::Relaxed) {
            return;
        }
        let (sent, received) = self.meter.totals();
        self.ward.witness().record(NetRecord {
            peer: self.peer,
            via: self.via,
            target: self.target.to_string(),
            address: self.dialled.get().copied(),
            request: None,
            status: None,
            verdict,
            rule: Some(self.allowance.rule.clone()),
            reason,
            sent,
            received,
            duration_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
    }
}
