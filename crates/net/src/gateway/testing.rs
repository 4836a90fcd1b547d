//! What tests of this crate have in common: a witness that remembers, and wards of simple plans.

use super::places::Places;
use super::ward::Ward;
use crate::{BoxFuture, NetRecord, Witness};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stockade_policy::{
    DomainPattern, DomainRule, GatewayPlan, Layer, NetLimits, NetRefusal, Origin, Reply, RequestRule,
    RuleRef, Switch,
};

/// Remembers what it is told and answers with what it was given.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) refusals: Mutex<Vec<NetRefusal>>,
    pub(crate) records: Mutex<Vec<NetRecord>>,
    pub(crate) asked: Mutex<Vec<String>>,
    answer: Mutex<(Reply, Duration)>,
}

impl Recorder {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            refusals: Mutex::default(),
            records: Mutex::default(),
            asked: Mutex::default(),
            answer: Mutex::new((Reply::Deny, Duration::ZERO)),
        })
    }

    /// What it answers from now on, and how long it takes for that.
    pub(crate) fn answer(&self, reply: Reply, after: Duration) {
        *self.answer.lock().unwrap() = (reply, after);
    }

    /// The causes of all refusals so far.
    pub(crate) fn causes(&self) -> Vec<stockade_policy::Cause> {
        self.refusals.lock().unwrap().iter().map(|refusal| refusal.cause).collect()
    }

    /// Waits for this many records, and gives them.
    pub(crate) async fn records(&self, number: usize) -> Vec<NetRecord> {
        for _ in 0..1000 {
            let records = self.records.lock().unwrap().clone();
            if records.len() >= number {
                return records;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{number} records did not come: {:?}", self.records.lock().unwrap());
    }
}

impl Witness for Recorder {
    fn refused(&self, refusal: &NetRefusal, _: Option<SocketAddr>) {
        self.refusals.lock().unwrap().push(refusal.clone());
    }

    fn ask(&self, refusal: &NetRefusal, _: Option<SocketAddr>) -> BoxFuture<'_, Reply> {
        self.asked.lock().unwrap().push(refusal.subject.clone());
        let (reply, after) = *self.answer.lock().unwrap();
        Box::pin(async move {
            tokio::time::sleep(after).await;
            reply
        })
    }

    fn record(&self, record: NetRecord) {
        self.records.lock().unwrap().push(record);
    }
}

/// A rule that allows `host` or `host:port`.
pub(crate) fn rule(host: &str) -> DomainRule {
    let origin = Origin { layer: Layer::Flag, source: "--allow-domain".into(), key: String::new() };
    DomainRule {
        pattern: DomainPattern::parse_allowed(host).unwrap(),
        reason: None,
        limits: NetLimits::default(),
        rule: RuleRef { text: format!("--allow-domain {host}"), origin },
    }
}

/// A rule that lets one read from a host.
pub(crate) fn reading(host: &str) -> RequestRule {
    RequestRule {
        pattern: DomainPattern::parse_allowed(host).unwrap(),
        methods: vec!["GET".into()],
        paths: vec![],
        verdict: Switch::Allowed,
        rule: rule(host).rule,
    }
}

/// A plan that allows these hosts and nothing else. `localhost` stands for this machine.
pub(crate) fn plan(hosts: &[&str]) -> GatewayPlan {
    // The servers of tests are on this machine's loopback.
    let host_loopback = Switch::Allowed;
    GatewayPlan {
        allowed: hosts.iter().map(|host| rule(host)).collect(),
        host_loopback,
        ..GatewayPlan::default()
    }
}

/// A ward of this plan.
pub(crate) fn ward(plan: GatewayPlan, witness: &Arc<Recorder>) -> Arc<Ward> {
    Ward::new(Arc::new(plan), Arc::clone(witness) as Arc<dyn Witness>, None, None).unwrap()
}

/// A ward of this plan in which there is room for a single tunnel over HTTP/2, two clients of it, three
/// requests and eight kilobytes of heads.
pub(crate) fn narrow_ward(plan: GatewayPlan, witness: &Arc<Recorder>) -> Arc<Ward> {
    let mut ward = ward(plan, witness);
    let narrow = Arc::get_mut(&mut ward).unwrap();
    narrow.tunnels = Places::alone(|| 1);
    narrow.second = Places::alone(|| 2);
    narrow.requests = Places::alone(|| 3);
    narrow.heads = Places::alone(|| 8);
    ward
}
