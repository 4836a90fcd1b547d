//! What must hold for a message to the resolver, whatever it is.

use super::names::Names;
use super::query::{self, Message};
use super::reply::{self, Carrier};
use super::resolve::{self, Existence, Step, Surroundings};
use super::wire::{Flags, Rcode};
use crate::BoxFuture;
use std::io;
use std::sync::Arc;
use stockade_policy::{GatewayPlan, Host, NetJudge, NetRefusal, Switch};

struct World {
    judge: Arc<NetJudge>,
    names: Names,
}

impl Surroundings for World {
    fn judge(&self) -> Arc<NetJudge> {
        self.judge.clone()
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn refuse(&self, refusal: NetRefusal) {
        let shown = refusal.subject.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        assert!(shown, "{:?} is told as it came", refusal.subject);
    }

    fn exists<'a>(&'a self, host: &'a Host) -> BoxFuture<'a, io::Result<Existence>> {
        panic!("{host} left the machine");
    }
}

/// Reads any bytes as a message over UDP, in a sandbox that may look nothing up.
pub fn dns(bytes: &[u8]) {
    for asking in [Switch::Refused, Switch::Allowed] {
        let plan = Arc::new(GatewayPlan { asking, ..GatewayPlan::default() });
        let world = World { judge: Arc::new(NetJudge::new(plan)), names: Names::new() };
        let (answer, question) = match query::read(bytes) {
            Message::Noise => return,
            Message::Fault(fault) => (reply::write_fault(&fault), Vec::new()),
            Message::Query(query) => match resolve::consider(&world, &query) {
                Step::Done(answer) => (reply::write(&query, &answer, Carrier::Datagram), query.question),
                Step::LookUp(host) => panic!("{host} would have left the machine"),
            },
        };
        assert!((12..=512).contains(&answer.len()));
        assert_eq!(answer[..2], bytes[..2]);
        let flags = Flags(u16::from_be_bytes([answer[2], answer[3]]));
        assert!(flags.is_answer());
        assert_eq!(answer[12..12 + question.len()], question);
        // What was refused has no addresses; what may be asked for has them from the pool alone.
        let answers = answer[7];
        assert!(answers == 0 || flags.0 & 0xf == Rcode::GOOD.0);
    }
}
