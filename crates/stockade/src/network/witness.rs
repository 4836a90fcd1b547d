//! What the gateway tells becomes part of the run's events and of its outcome.

use std::net::SocketAddr;
use stockade_isolate::{NetNote, Teller};
use stockade_net::{BoxFuture, NetRecord, Witness};
use stockade_policy::{Connection, Event, NetRefusal, Reply};
use tokio::sync::mpsc;

/// Records that wait for whoever reads a run's events. What comes beyond is in the sums only.
const MOST_WAITING: usize = 4096;

/// Passes on what the gateway says.
pub(super) struct Reporter {
    teller: Teller,
    sandbox: String,
    records: mpsc::Sender<Event>,
}

impl Reporter {
    pub(super) fn new(teller: Teller, sandbox: &str) -> (Self, mpsc::Receiver<Event>) {
        let (records, told) = mpsc::channel(MOST_WAITING);
        (Self { teller, sandbox: sandbox.to_owned(), records }, told)
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
        let event = Event::Connection(Box::new(Connection {
            sandbox: self.sandbox.clone(),
            via: record.via,
            target: record.target,
            address: record.address.map(|address| address.to_string()),
            method,
            path,
            status: record.status,
            verdict: record.verdict,
            rule: record.rule,
            sent: record.sent,
            received: record.received,
            duration_ms: record.duration_ms,
            pid,
            program,
        }));
        // Nobody has to read them.
        let _ = self.records.try_send(event);
    }
}

fn note(refusal: &NetRefusal, peer: Option<SocketAddr>) -> NetNote {
    NetNote {
        kind: refusal.kind,
        subject: refusal.subject.clone(),
        reason: refusal.told.clone().unwrap_or_else(|| refusal.reason.clone()),
        rule: refusal.rule.clone(),
        suggestion: refusal.suggestion.clone(),
        peer,
        destination: None,
    }
}
