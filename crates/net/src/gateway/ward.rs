//! Everything about one sandbox's network, shared by all its tasks.

use super::admitted::Denied;
use super::allotment::Allotment;
use super::asking::Questions;
use super::error::GatewayError;
use super::meter::Meter;
use super::places::Places;
use super::registry::{Entry, Grant, Registry};
use super::statistics::{Counts, Statistics};
use crate::credentials::Vault;
use crate::dial::{Dialler, Routes};
use crate::dns::Names;
use crate::relay::Buffers;
use crate::tls::Termination;
use crate::{Verdict, Via, Witness};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use stockade_policy::{
    AddressOwner, GatewayPlan, NetJudge, NetLimits, NetRefusal, RuleRef, Ruling, Switch, Target,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Rules are as many as the plan has, and grants; this many are more than anybody writes.
const MOST_RULES: usize = 4096;
/// HTTP connections of a sandbox, of clients and to servers, that may have big buffers at once.
const MOST_BIG_BUFFERS: usize = 32;
/// Bytes of request bodies that a sandbox may have held whole at once.
const MOST_HELD: u32 = 64 << 20;

/// Everything about one sandbox's network, shared by all its tasks.
pub(crate) struct Ward {
    judge: RwLock<Arc<NetJudge>>,
    routes: RwLock<Arc<Routes>>,
    names: Names,
    termination: Option<Arc<Termination>>,
    vault: Option<Arc<Vault>>,
    witness: Arc<dyn Witness>,
    pub(super) questions: Questions,
    pub(super) registry: Registry,
    counts: Counts,
    of_sandbox: Arc<Allotment>,
    of_rules: Mutex<HashMap<RuleRef, Arc<Allotment>>>,
    dialler: Dialler,
    buffers: Buffers,
    pub(super) servers: Arc<Places>,
    pub(super) tunnels: Arc<Places>,
    pub(super) second: Arc<Places>,
    pub(super) requests: Arc<Places>,
    pub(super) heads: Arc<Places>,
    /// Bytes of request bodies that are held whole.
    bodies: Arc<Semaphore>,
    /// HTTP connections that may have big buffers.
    big_buffers: Arc<Semaphore>,
    ended: watch::Sender<bool>,
}

impl Ward {
    pub(super) fn new(
        plan: Arc<GatewayPlan>,
        witness: Arc<dyn Witness>,
        termination: Option<Arc<Termination>>,
        vault: Option<Arc<Vault>>,
    ) -> Result<Arc<Self>, GatewayError> {
        Ok(Arc::new(Self {
            routes: RwLock::new(Arc::new(Routes::new(&plan.upstreams)?)),
            names: Names::new(),
            termination,
            vault,
            witness,
            questions: Questions::default(),
            registry: Registry::default(),
            counts: Counts::default(),
            of_sandbox: Arc::new(Allotment::new(plan.limits)),
            of_rules: Mutex::default(),
            dialler: Dialler::default(),
            buffers: Buffers::default(),
            servers: Places::for_servers(),
            tunnels: Places::for_tunnels(),
            second: Places::for_second(),
            requests: Places::for_requests(),
            heads: Places::for_heads(),
            bodies: Arc::new(Semaphore::new(MOST_HELD as usize)),
            big_buffers: Arc::new(Semaphore::new(MOST_BIG_BUFFERS)),
            ended: watch::Sender::new(false),
            judge: RwLock::new(Arc::new(NetJudge::new(plan))),
        }))
    }

    /// The judge as of now; its plan is the plan as of now.
    pub(crate) fn judge(&self) -> Arc<NetJudge> {
        Arc::clone(&self.judge.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where connections are led instead of to their target.
    pub(crate) fn routes(&self) -> Arc<Routes> {
        Arc::clone(&self.routes.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Which name each pool address stands for.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Looking into TLS, where the plan wants it.
    pub(crate) fn termination(&self) -> Option<&Termination> {
        self.termination.as_deref()
    }

    /// How long a client that has to speak first may say nothing: as long as is `usual`, or as a handshake may take.
    pub(crate) fn patience(&self, usual: Duration) -> Duration {
        self.termination().map_or(usual, |termination| termination.patience().min(usual))
    }

    /// The secrets the sandbox sees stand-ins of.
    pub(crate) fn vault(&self) -> Option<&Arc<Vault>> {
        self.vault.as_ref()
    }

    /// Whoever is told what happens.
    pub(crate) fn witness(&self) -> &Arc<dyn Witness> {
        &self.witness
    }

    pub(crate) fn dialler(&self) -> &Dialler {
        &self.dialler
    }

    pub(crate) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Room for a request body of this length, as soon as there is some; for as long as it is held whole.
    pub(crate) async fn room_for_body(&self, length: usize) -> Option<OwnedSemaphorePermit> {
        let length = u32::try_from(length).unwrap_or(MOST_HELD).min(MOST_HELD);
        Arc::clone(&self.bodies).acquire_many_owned(length).await.ok()
    }

    /// The right to big buffers, as long as few have it: clients that never read must not fill the memory.
    pub(crate) fn room_for_big_buffers(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.big_buffers).try_acquire_owned().ok()
    }

    /// Tells the witness, and gives the refusal back for whoever is refused.
    pub(crate) fn refuse(&self, refusal: NetRefusal) -> Denied {
        self.witness.refused(&refusal, crate::peer::peer());
        Denied { refusal: Box::new(refusal) }
    }

    /// Runs a task that ends when the gateway does.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut ended = self.ended.subscribe();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = task => {}
                _ = ended.wait_for(|ended| *ended) => {}
            }
        });
    }

    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Bytes of all connections so far.
    pub(super) fn moved(&self) -> u64 {
        self.of_sandbox.used()
    }

    /// Puts another plan in place and closes what it refuses.
    pub(crate) fn change(&self, plan: Arc<GatewayPlan>) -> Result<(), GatewayError> {
        let routes = Arc::new(Routes::new(&plan.upstreams)?);
        self.of_sandbox.set_limits(plan.limits);
        let judge = Arc::new(NetJudge::new(plan));
        *self.routes.write().unwrap_or_else(PoisonError::into_inner) = routes;
        *self.judge.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&judge);
        for entry in self.registry.all() {
            if !self.still_allowed(&judge, &entry) {
                entry.close();
            }
        }
        Ok(())
    }

    /// Whether a live connection may go on. Those of its requests that may not are ended one by one.
    pub(super) fn still_allowed(&self, judge: &NetJudge, entry: &Entry) -> bool {
        let plan = judge.plan();
        match entry.via {
            Via::Forward => return plan.forward.iter().any(|port| port.host == entry.target.port),
            Via::Publish => return plan.publish.iter().any(|port| port.inside == entry.target.port),
            Via::HttpProxy if entry.grant == Grant::Port => {
                return plan.upstreams.http_proxy_port == Some(entry.target.port);
            }
            Via::Socks if entry.grant == Grant::Port => {
                return plan.upstreams.socks_proxy_port == Some(entry.target.port);
            }
            Via::Transparent | Via::HttpProxy | Via::Connect | Via::Socks => {}
        }
        let known = entry.known();
        let content = entry.standing.judge(judge);
        if let Ruling::Refused(refusal) = judge.connect(&entry.target, known.spoken) {
            // What a person allowed stays, as long as the plan would still have it asked.
            return content && entry.grant == Grant::Person && refusal.askable == Switch::Allowed;
        }
        content
            && known.address.is_none_or(|address| {
                let owner = self.dialler.owner(address).unwrap_or(AddressOwner::ThisMachine);
                matches!(judge.address(&entry.target, address, owner), Ruling::Allowed(_))
            })
    }

    /// What the connections of this rule may use together.
    pub(super) fn allotment(&self, rule: &RuleRef, limits: NetLimits) -> Arc<Allotment> {
        let mut rules = self.of_rules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = rules.get(rule) {
            if known.limits() != limits {
                known.set_limits(limits);
            }
            return Arc::clone(known);
        }
        let new = Arc::new(Allotment::new(limits));
        if rules.len() < MOST_RULES {
            rules.insert(rule.clone(), Arc::clone(&new));
        }
        new
    }

    pub(super) fn of_sandbox(&self) -> &Arc<Allotment> {
        &self.of_sandbox
    }

    pub(super) fn forget(&self, entry: &Entry) {
        self.registry.leave(entry);
    }

    pub(super) fn count_refused(&self, target: &Target) {
        self.counts.add(&target.host.to_string(), |host| host.refused += 1);
    }

    pub(crate) fn count_refused_name(&self, name: &str) {
        self.counts.add(name, |host| host.refused += 1);
    }

    pub(super) fn count_request(&self, target: &Target) {
        self.counts.add(&target.host.to_string(), |host| host.requests += 1);
    }

    pub(super) fn count_end(&self, target: &Target, meter: &Meter, verdict: Verdict) {
        let (sent, received) = meter.totals();
        self.counts.add(&target.host.to_string(), |host| {
            match verdict {
                Verdict::Allowed => host.connections += 1,
                Verdict::Refused => host.refused += 1,
                Verdict::Failed => host.failed += 1,
            }
            host.sent += sent;
            host.received += received;
        });
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.counts.snapshot(self.registry.len())
    }
}

impl fmt::Debug for Ward {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Ward").field("live", &self.registry.len()).finish_non_exhaustive()
    }
}
