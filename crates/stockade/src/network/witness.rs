//! What the gateway tells becomes part of the run's events and of its outcome.

use crate::backlog::{self, Listener, backlog};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};
use stockade_isolate::{Attendant, Concern, NetNote, Teller, TurnedAway};
use stockade_net::{BoxFuture, Gateway, NetRecord, Witness};
use stockade_policy::{Cause, Connection, ConnectionVerdict, Event, NetRefusal, Reply, Via};

/// Passes on what the gateway says.
pub(super) struct Reporter {
    teller: Teller,
    sandbox: String,
    /// What comes in greater numbers than anybody reads is in the sums only.
    records: backlog::Teller,
}

impl Reporter {
    pub(super) fn new(teller: Teller, sandbox: &str) -> (Self, Listener) {
        let (records, told) = backlog();
        (Self { teller, sandbox: sandbox.to_owned(), records }, told)
    }

    fn tell(&self, connection: Connection) {
        // Nobody has to read them.
        let _ = self.records.tell(Event::Connection(Box::new(connection)));
    }
}

impl Witness for Reporter {
    fn refused(&self, refusal: &NetRefusal, peer: Option<SocketAddr>) {
        self.teller.refused(note(refusal, peer));
    }

    fn ask(&self, refusal: &NetRefusal, peer: Option<SocketAddr>) -> BoxFuture<'_, Reply> {
        let note = note(refusal, peer);
        Box::pin(async move { self.teller.ask(note).await })
    }

    fn record(&self, record: NetRecord) {
        let (method, path) = record.request.unzip();
        let (pid, program) = record
            .peer
            .and_then(|peer| self.teller.process(peer))
            .map_or((None, None), |process| (Some(process.pid), process.program));
        self.tell(Connection {
            sandbox: self.sandbox.clone(),
            via: record.via,
            target: record.target,
            address: record.address.map(|address| address.to_string()),
            method,
            path,
            status: record.status,
            verdict: record.verdict,
            rule: record.rule,
            reason: record.reason,
            sent: record.sent,
            received: record.received,
            duration_ms: record.duration_ms,
            pid,
            program,
        });
    }
}

/// Passes on what the gateway never saw, and has it counted there.
pub(super) struct Attending {
    pub(super) gateway: Weak<Gateway>,
    pub(super) reporter: Arc<Reporter>,
}

impl Attendant for Attending {
    fn name_of(&self, address: IpAddr) -> Option<String> {
        self.gateway.upgrade()?.name_of(address)
    }

    fn turned_away(&self, away: TurnedAway) {
        self.counted(&away.host);
        let (pid, program) =
            away.process.map_or((None, None), |process| (Some(process.pid), process.program));
        self.reporter.tell(Connection {
            sandbox: self.reporter.sandbox.clone(),
            via: Via::Transparent,
            target: away.target,
            address: None,
            method: None,
            path: None,
            status: None,
            verdict: ConnectionVerdict::Refused,
            rule: away.rule,
            reason: Some(away.reason),
            sent: 0,
            received: 0,
            duration_ms: 0,
            pid,
            program,
        });
    }

    fn counted(&self, host: &str) {
        if let Some(gateway) = self.gateway.upgrade() {
            gateway.turned_away(host);
        }
    }
}

fn note(refusal: &NetRefusal, peer: Option<SocketAddr>) -> NetNote {
    NetNote {
        kind: refusal.kind,
        concern: match refusal.cause {
            Cause::StandIn => Concern::Secret,
            Cause::Address => Concern::Address,
            Cause::Mismatch => Concern::Agreement,
            _ => Concern::Reach,
        },
        subject: refusal.subject.clone(),
        reason: refusal.told.clone().unwrap_or_else(|| refusal.reason.clone()),
        rule: refusal.rule.clone(),
        suggestion: refusal.suggestion.clone(),
        peer,
        destination: None,
    }
}
