//! What the gateway tells becomes part of the run's events and of its outcome.

use stockade_isolate::{NetNote, Teller};
use stockade_net::{BoxFuture, NetRecord, Verdict, Via, Witness};
use stockade_policy::{Connection, ConnectionVerdict, Event, NetRefusal, Reply, Via as ToldVia};

/// Passes on what the gateway says.
pub(super) struct Reporter {
    teller: Teller,
    sandbox: String,
}

impl Reporter {
    pub(super) fn new(teller: Teller, sandbox: &str) -> Self {
        Self { teller, sandbox: sandbox.to_owned() }
    }
}

impl Witness for Reporter {
    fn refused(&self, refusal: &NetRefusal) {
        self.teller.refused(note(refusal));
    }

    fn ask(&self, refusal: &NetRefusal) -> BoxFuture<'_, Reply> {
        let note = note(refusal);
        Box::pin(async move { self.teller.ask(note).await })
    }

    fn record(&self, record: NetRecord) {
        let (method, path) = record.request.unzip();
        self.teller.event(Event::Connection(Box::new(Connection {
            sandbox: self.sandbox.clone(),
            via: via(record.via),
            target: record.target,
            address: record.address.map(|address| address.to_string()),
            method,
            path,
            status: record.status,
            verdict: verdict(record.verdict),
            rule: record.rule,
            sent: record.sent,
            received: record.received,
            duration_ms: record.duration_ms,
            pid: None,
            program: None,
        })));
    }
}

fn note(refusal: &NetRefusal) -> NetNote {
    NetNote {
        kind: refusal.kind,
        subject: refusal.subject.clone(),
        reason: refusal.told.clone().unwrap_or_else(|| refusal.reason.clone()),
        rule: refusal.rule.clone(),
        suggestion: refusal.suggestion.clone(),
        peer: None,
        destination: None,
    }
}

fn via(via: Via) -> ToldVia {
    match via {
        Via::Transparent => ToldVia::Transparent,
        Via::HttpProxy => ToldVia::HttpProxy,
        Via::Connect => ToldVia::Connect,
        Via::Socks => ToldVia::Socks,
        Via::Forward => ToldVia::Forward,
        Via::Publish => ToldVia::Publish,
    }
}

fn verdict(verdict: Verdict) -> ConnectionVerdict {
    match verdict {
        Verdict::Allowed => ConnectionVerdict::Allowed,
        Verdict::Refused => ConnectionVerdict::Refused,
        Verdict::Failed => ConnectionVerdict::Failed,
    }
}
