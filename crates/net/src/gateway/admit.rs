//! Letting a connection or a request in.

use super::admitted::{Admitted, Denied, Wanted};
use super::asking::Answered;
use super::meter::{Meter, limit_refusal};
use super::registry::Grant;
use super::ward::Ward;
use crate::peer::peer;
use crate::{NetRecord, Verdict, Via};
use std::sync::Arc;
use std::time::Instant;
use stockade_policy::{
    AddressOwner, Allowance, Cause, Host, Layer, NetLimits, NetRefusal, Origin, RuleRef, Ruling, Switch,
    Target, ViolationKind,
};

/// Letters of what could not be read that are told.
const LONGEST_SUBJECT: usize = 256;

impl Ward {
    /// Judges a connection; asks a person where the plan allows asking, and waits for the answer.
    ///
    /// A refusal was told to the witness and recorded before this returns.
    pub(crate) async fn admit(self: &Arc<Self>, wanted: Wanted) -> Result<Admitted, Denied> {
        let mut judge = self.judge();
        let (allowance, grant) = match judge.connect(&wanted.target, wanted.spoken) {
            Ruling::Allowed(allowance) => (allowance, Grant::Rule),
            Ruling::Refused(refusal) if self.is_own(&wanted.target) => {
                return Err(self.denied(&wanted, *refusal));
            }
            Ruling::Refused(refusal) => {
                match self.asked(&refusal).await {
                    Answered::Yes => {}
                    Answered::No => return Err(self.denied_by_somebody(&wanted, refusal)),
                    Answered::Unasked => return Err(self.denied(&wanted, *refusal)),
                }
                // Answers take their time, and an answer can be a new rule.
                judge = self.judge();
                match judge.connect(&wanted.target, wanted.spoken) {
                    Ruling::Allowed(allowance) => (allowance, Grant::Rule),
                    Ruling::Refused(refusal) if refusal.askable == Switch::Allowed => {
                        (granted(), Grant::Person)
                    }
                    Ruling::Refused(refusal) => return Err(self.denied(&wanted, *refusal)),
                }
            }
        };
        let of_rule = self.allotment(&allowance.rule, allowance.limits);
        let now = Instant::now();
        if let Err(limit) = self.of_sandbox().connection(now) {
            return Err(self.denied(&wanted, limit_refusal(&wanted.target, limit, None)));
        }
        if let Err(limit) = of_rule.connection(now) {
            return Err(self.denied(&wanted, limit_refusal(&wanted.target, limit, Some(&allowance.rule))));
        }
        let admitted = self.enter(wanted, allowance, grant);
        admitted.judged_by(&judge);
        Ok(admitted)
    }

    /// Refuses what is not even the name of a place. `asked` is what was said instead of one.
    pub(crate) fn denied_unread(&self, asked: &[u8], via: Via, reason: String) -> Denied {
        // What follows a question mark may be anybody's secret.
        let asked = asked.split(|byte| *byte == b'?').next().unwrap_or_default();
        // As it was said: whoever shows it writes it out.
        let subject: String = String::from_utf8_lossy(asked).chars().take(LONGEST_SUBJECT).collect();
        self.count_refused_name(host_part(&subject));
        let refusal = NetRefusal {
            kind: ViolationKind::Connect,
            subject,
            cause: Cause::Grammar,
            reason,
            told: None,
            rule: None,
            suggestion: None,
            askable: Switch::Refused,
        };
        let record = record_of(via, refusal.subject.clone(), &refusal);
        let denied = self.refuse(refusal);
        self.witness().record(record);
        denied
    }

    /// Lets in what the plan asks for by port: published and forwarded ports,
    /// and proxies that take our place. They have no name to judge.
    pub(super) fn admit_port(self: &Arc<Self>, wanted: Wanted, rule: RuleRef) -> Admitted {
        self.enter(wanted, Allowance { rule, limits: NetLimits::default() }, Grant::Port)
    }

    /// Judges one request on a connection that was let in, and counts it.
    pub(crate) async fn judge_request(
        self: &Arc<Self>,
        admitted: &Admitted,
        method: &str,
        path: &str,
    ) -> Result<(), Denied> {
        if let Ruling::Refused(refusal) = self.judge().request(&admitted.target, method, path) {
            match self.asked(&refusal).await {
                Answered::Yes => {}
                Answered::No => return Err(Denied { refusal }),
                Answered::Unasked => return Err(self.refuse(*refusal)),
            }
        }
        self.count_request(&admitted.target);
        admitted.meter().request().map_err(|reached| Denied { refusal: reached.refusal })
    }

    /// Whether this is an address of this machine: settings can allow that, an answer to a question cannot.
    fn is_own(&self, target: &Target) -> bool {
        match &target.host {
            Host::Name(_) => false,
            Host::Address(address) => !matches!(self.dialler().owner(*address), Ok(AddressOwner::Elsewhere)),
        }
    }

    /// Whether a person allows what the plan does not.
    async fn asked(self: &Arc<Self>, refusal: &NetRefusal) -> Answered {
        if refusal.askable == Switch::Allowed { self.ask(refusal).await } else { Answered::Unasked }
    }

    fn enter(self: &Arc<Self>, wanted: Wanted, allowance: Allowance, grant: Grant) -> Admitted {
        let entry = self.registry.enter(wanted.target.clone(), wanted.via, wanted.spoken, grant);
        let of_rule = self.allotment(&allowance.rule, allowance.limits);
        let meter = Meter::new(
            Arc::downgrade(self),
            wanted.target.clone(),
            allowance.rule.clone(),
            of_rule,
            Arc::clone(self.of_sandbox()),
        );
        Admitted::new(Arc::clone(self), wanted, allowance, Arc::new(meter), entry)
    }

    /// Tells the witness of a refusal, and records what was wanted.
    pub(crate) fn denied(&self, wanted: &Wanted, refusal: NetRefusal) -> Denied {
        let record = self.refused_record(wanted, &refusal);
        let denied = self.refuse(refusal);
        self.witness().record(record);
        denied
    }

    /// The witness was asked, and knows.
    fn denied_by_somebody(&self, wanted: &Wanted, refusal: Box<NetRefusal>) -> Denied {
        self.record_refused(wanted, &refusal);
        Denied { refusal }
    }

    /// Records what was wanted where the witness has heard of the refusal before.
    pub(super) fn record_refused(&self, wanted: &Wanted, refusal: &NetRefusal) {
        self.witness().record(self.refused_record(wanted, refusal));
    }

    fn refused_record(&self, wanted: &Wanted, refusal: &NetRefusal) -> NetRecord {
        self.count_refused(&wanted.target);
        record_of(wanted.via, wanted.target.to_string(), refusal)
    }
}

/// The record of what was refused before there was a connection.
fn record_of(via: Via, target: String, refusal: &NetRefusal) -> NetRecord {
    NetRecord {
        peer: peer(),
        via,
        target,
        address: None,
        request: None,
        status: None,
        verdict: Verdict::Refused,
        rule: refusal.rule.clone(),
        reason: Some(in_words(refusal)),
        sent: 0,
        received: 0,
        duration_ms: 0,
    }
}

/// The host in it, as far as there is one, for the sums.
fn host_part(subject: &str) -> &str {
    let subject = subject.split_once("://").map_or(subject, |(_, rest)| rest);
    let subject = subject.split('/').next().unwrap_or_default();
    match subject.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|letter| letter.is_ascii_digit()) => host,
        _ => subject,
    }
}

/// Why something is refused, for records.
pub(super) fn in_words(refusal: &NetRefusal) -> String {
    refusal.told.clone().unwrap_or_else(|| refusal.reason.clone())
}

/// What a connection that a person let in goes by.
fn granted() -> Allowance {
    let origin = Origin { layer: Layer::Grant, source: "asked".to_owned(), key: String::new() };
    let rule = RuleRef { text: "allowed when asked".to_owned(), origin };
    Allowance { rule, limits: NetLimits::default() }
}

/// A refusal of something that was let in before more was known about it.
pub(crate) fn refusal(target: &Target, cause: Cause, reason: String, rule: Option<RuleRef>) -> NetRefusal {
    NetRefusal {
        kind: ViolationKind::Connect,
        subject: target.to_string(),
        cause,
        reason,
        told: None,
        rule,
        suggestion: None,
        askable: Switch::Refused,
    }
}
