//! The resolver as programs meet it. Answers are read with a library that had no part in writing them.

mod carried;

use super::names::Names;
use super::query::{self, Message};
use super::reply::{self, Carrier};
use super::resolve::{self, Existence, Step, Surroundings};
use crate::BoxFuture;
use proptest::prelude::*;
use simple_dns::rdata::RData;
use simple_dns::{Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use stockade_policy::{
    Cause, DomainPattern, DomainRule, GatewayPlan, Host, Layer, NetJudge, NetLimits, NetRefusal, Origin,
    RuleRef, Switch,
};
use tokio::sync::Semaphore;

struct World {
    judge: Arc<NetJudge>,
    names: Names,
    refused: Mutex<Vec<NetRefusal>>,
    lookups: AtomicUsize,
    /// What slow lookups wait for.
    gate: Semaphore,
}

impl World {
    fn new(asking: Switch) -> Arc<Self> {
        let origin = Origin { layer: Layer::User, source: "settings".into(), key: String::new() };
        let rule = |text: &str| DomainRule {
            pattern: DomainPattern::parse_denied(text).unwrap(),
            reason: None,
            limits: NetLimits::default(),
            rule: RuleRef { text: text.into(), origin: origin.clone() },
        };
        let plan = GatewayPlan {
            allowed: vec![rule("allow.test"), rule("*.allow.test"), rule("_dmarc.odd.test")],
            denied: vec![rule("denied.allow.test")],
            asking,
            ..GatewayPlan::default()
        };
        let judge = Arc::new(NetJudge::new(Arc::new(plan)));
        Arc::new(Self {
            judge,
            names: Names::new(),
            refused: Mutex::default(),
            lookups: AtomicUsize::new(0),
            gate: Semaphore::new(0),
        })
    }

    fn told(&self) -> Vec<String> {
        self.refused.lock().unwrap().iter().map(|refusal| refusal.subject.clone()).collect()
    }
}

impl Surroundings for World {
    fn judge(&self) -> Arc<NetJudge> {
        self.judge.clone()
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn refuse(&self, refusal: NetRefusal) {
        self.refused.lock().unwrap().push(refusal);
    }

    fn exists<'a>(&'a self, host: &'a Host) -> BoxFuture<'a, io::Result<Existence>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        let answer = match host.to_string().as_str() {
            "typo.allow.test" => Ok(Existence::Unknown),
            "broken.allow.test" => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(Existence::Real),
        };
        Box::pin(async move {
            if *host == Host::Name("slow.allow.test".into()) {
                let _ = self.gate.acquire().await;
            }
            answer
        })
    }
}

/// A question as a program sends it.
fn question(name: &str, kind: u16) -> Vec<u8> {
    let mut out = vec![0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.').filter(|label| !label.is_empty()) {
        out.push(label.len() as u8);
        out.extend_from_slice(label.as_bytes());
    }
    out.push(0);
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&[0, 1]);
    out
}

/// The same with an EDNS record.
fn extended(mut question: Vec<u8>, version: u8) -> Vec<u8> {
    question[11] = 1;
    question.extend_from_slice(&[0, 0, 41, 0x10, 0, 0, version, 0x80, 0, 0, 0]);
    question
}

/// The bytes of the answer, whatever it takes to get them.
async fn answer(world: &Arc<World>, message: &[u8]) -> Vec<u8> {
    let query = match query::read(message) {
        Message::Noise => return Vec::new(),
        Message::Fault(fault) => return reply::write_fault(&fault),
        Message::Query(query) => query,
    };
    let answer = match resolve::consider(&**world, &query) {
        Step::Done(answer) => answer,
        Step::LookUp(host) => resolve::look_up(&**world, &host, query.kind).await,
    };
    reply::write(&query, &answer, Carrier::Datagram)
}

/// The answer with its question turned into one for an address: the other library does not know every kind.
fn readable(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.get(5) == Some(&1) {
        let mut at = 12;
        while bytes[at] != 0 {
            at += 1 + usize::from(bytes[at]);
        }
        bytes[at + 1..at + 5].copy_from_slice(&[0, 1, 0, 1]);
    }
    bytes
}

/// Addresses and names of an answer, as text.
fn records(bytes: &[u8]) -> (RCODE, Vec<String>) {
    let bytes = readable(bytes);
    let packet = Packet::parse(&bytes).unwrap();
    assert!(packet.has_flags(PacketFlag::RESPONSE | PacketFlag::RECURSION_AVAILABLE));
    let shown = packet.answers.iter().map(|record| match &record.rdata {
        RData::A(a) => IpAddr::from(a.address.to_be_bytes()).to_string(),
        RData::AAAA(aaaa) => IpAddr::from(aaaa.address.to_be_bytes()).to_string(),
        RData::PTR(ptr) => ptr.0.to_string(),
        other => panic!("{other:?}"),
    });
    (packet.rcode(), shown.collect())
}

async fn ask(world: &Arc<World>, name: &str, kind: u16) -> (RCODE, Vec<String>) {
    records(&answer(world, &question(name, kind)).await)
}

const A: u16 = 1;
const PTR: u16 = 12;
const TXT: u16 = 16;
const AAAA: u16 = 28;
const SRV: u16 = 33;
const HTTPS: u16 = 65;
const AXFR: u16 = 252;
const ANY: u16 = 255;

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn an_allowed_name_gets_addresses_of_the_pool_in_both_families() {
    let world = World::new(Switch::Refused);
    assert_eq!(ask(&world, "allow.test", A).await, (RCODE::NoError, texts(&["198.18.0.1"])));
    assert_eq!(ask(&world, "ALLOW.test", AAAA).await, (RCODE::NoError, texts(&["fd53:746f:636b::1"])));
    let both = texts(&["198.18.0.2", "fd53:746f:636b::2"]);
    assert_eq!(ask(&world, "sub.allow.test", ANY).await, (RCODE::NoError, both));
    assert_eq!(world.names.host_of("198.18.0.2".parse().unwrap()), Some(Host::Name("sub.allow.test".into())));
    assert!(world.told().is_empty());
}

#[tokio::test]
async fn only_addresses_are_answered() {
    let world = World::new(Switch::Refused);
    for kind in [2, 5, 6, 15, TXT, SRV, HTTPS, 64, 99, 65_280] {
        let bytes = answer(&world, &question("allow.test", kind)).await;
        assert_eq!(records(&bytes), (RCODE::NoError, vec![]), "{kind}");
        let bytes = readable(&bytes);
        let packet = Packet::parse(&bytes).unwrap();
        let [authority] = &packet.name_servers[..] else { panic!("no authority for {kind}") };
        assert!(matches!(&authority.rdata, RData::SOA(soa) if soa.minimum <= 60));
        assert!(authority.ttl <= 60);
    }
    assert_eq!(ask(&world, "_dmarc.odd.test", A).await.0, RCODE::NoError);
}

#[tokio::test]
async fn what_does_not_exist_or_cannot_be_looked_up_is_said_to() {
    let world = World::new(Switch::Refused);
    assert_eq!(ask(&world, "typo.allow.test", A).await, (RCODE::NameError, vec![]));
    assert_eq!(ask(&world, "typo.allow.test", HTTPS).await, (RCODE::NameError, vec![]));
    assert_eq!(ask(&world, "broken.allow.test", A).await, (RCODE::ServerFailure, vec![]));
    for searched in ["typo.allow.test.corp.lan", "broken.allow.test.corp.lan"] {
        assert_eq!(ask(&world, searched, A).await, (RCODE::NameError, vec![]));
    }
    assert!(world.told().is_empty(), "the suffix of a search list was told");
}

#[tokio::test]
async fn a_refused_name_does_not_exist_is_told_once_and_never_looked_up() {
    let world = World::new(Switch::Refused);
    for kind in [A, AAAA, HTTPS, TXT, A] {
        assert_eq!(ask(&world, "c2VjcmV0.evil.test", kind).await, (RCODE::NameError, vec![]));
    }
    assert_eq!(ask(&world, "c2VjcmV0.evil.test.corp.lan", A).await, (RCODE::NameError, vec![]));
    assert_eq!(ask(&world, "denied.allow.test", A).await, (RCODE::NameError, vec![]));
    assert_eq!(world.told(), ["c2vjcmv0.evil.test", "denied.allow.test"]);
    assert_eq!(world.lookups.load(Ordering::Relaxed), 0);
    assert_eq!(world.names.host_of("198.18.0.1".parse().unwrap()), None);
}

#[tokio::test]
async fn a_name_that_may_be_asked_for_gets_an_address_and_no_lookup() {
    let world = World::new(Switch::Allowed);
    assert_eq!(ask(&world, "new.test", A).await, (RCODE::NoError, texts(&["198.18.0.1"])));
    assert_eq!(ask(&world, "new.test", HTTPS).await, (RCODE::NoError, vec![]));
    assert_eq!(ask(&world, "denied.allow.test", A).await, (RCODE::NameError, vec![]));
    assert_eq!(world.told(), ["denied.allow.test"]);
    assert_eq!(world.lookups.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn names_that_may_be_asked_for_leave_room_for_allowed_ones() {
    let mut world = World::new(Switch::Allowed);
    Arc::get_mut(&mut world).unwrap().names = Names::with_room(3, 1);
    assert_eq!(ask(&world, "new.test", A).await, (RCODE::NoError, texts(&["198.18.0.1"])));
    for other in ["more.test", "yet-more.test"] {
        assert_eq!(ask(&world, other, A).await, (RCODE::NameError, vec![]));
    }
    assert_eq!(world.told(), ["more.test", "yet-more.test"]);
    assert_eq!(ask(&world, "allow.test", A).await, (RCODE::NoError, texts(&["198.18.0.2"])));
    assert_eq!(ask(&world, "new.test", A).await, (RCODE::NoError, texts(&["198.18.0.1"])));
}

#[tokio::test]
async fn whoever_understands_it_is_told_why() {
    let world = World::new(Switch::Refused);
    let bytes = answer(&world, &extended(question("evil.test", A), 0)).await;
    let packet = Packet::parse(&bytes).unwrap();
    let [option] = &packet.opt().unwrap().opt_codes[..] else { panic!("no option") };
    assert_eq!((option.code, &option.data[..2]), (15, &[0, 15][..]));
    assert_eq!(&option.data[2..], b"the host is on no list of allowed ones");
    assert_eq!(packet.opt().unwrap().udp_packet_size, 1232);

    let bytes = answer(&world, &question("evil.test", A)).await;
    assert!(Packet::parse(&bytes).unwrap().opt().is_none());

    // The upper half of BADVERS, 16, stands in the record, which the other library reads at the wrong end.
    let bytes = answer(&world, &extended(question("allow.test", A), 1)).await;
    assert_eq!(bytes[bytes.len() - 11..], [0, 0, 41, 0x04, 0xd0, 1, 0, 0x80, 0, 0, 0]);
}

#[tokio::test]
async fn loopback_needs_no_rule() {
    let world = World::new(Switch::Refused);
    for name in ["localhost", "LocalHost", "app.localhost"] {
        assert_eq!(ask(&world, name, A).await, (RCODE::NoError, texts(&["127.0.0.1"])));
        assert_eq!(ask(&world, name, AAAA).await, (RCODE::NoError, texts(&["::1"])));
        assert_eq!(ask(&world, name, TXT).await, (RCODE::NoError, vec![]));
    }
    assert_eq!(ask(&world, "notlocalhost", A).await.0, RCODE::NameError);
    assert_eq!(world.told(), ["notlocalhost"]);
}

#[tokio::test]
async fn addresses_are_turned_into_names() {
    let world = World::new(Switch::Refused);
    ask(&world, "allow.test", A).await;
    let six = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.6.3.6.f.6.4.7.3.5.d.f.ip6.arpa";
    let loopback = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa";
    for (name, meant) in [
        ("1.0.18.198.in-addr.arpa", "allow.test"),
        (six, "allow.test"),
        ("1.0.0.127.in-addr.arpa", "localhost"),
        (loopback, "localhost"),
    ] {
        assert_eq!(ask(&world, name, PTR).await, (RCODE::NoError, texts(&[meant])), "{name}");
    }
    assert_eq!(ask(&world, "1.0.18.198.in-addr.arpa", A).await, (RCODE::NoError, vec![]));
    assert_eq!(ask(&world, "8.8.8.8.in-addr.arpa", PTR).await, (RCODE::NameError, vec![]));
    assert!(world.told().is_empty());
    assert_eq!(ask(&world, "secret.8.8.8.in-addr.arpa", PTR).await, (RCODE::NameError, vec![]));
    assert_eq!(world.told(), ["secret.8.8.8.in-addr.arpa"]);
}

#[tokio::test]
async fn what_is_no_name_of_a_host_is_refused_before_policy() {
    let world = World::new(Switch::Allowed);
    let odd = [
        "1.2.3.4",
        "0x7f.1",
        "sp ace.test",
        "nul\0.allow.test",
        "per%cent.test",
        "at@allow.test",
        "wide\u{ff0e}test",
    ];
    for name in odd {
        assert_eq!(ask(&world, name, A).await, (RCODE::NameError, vec![]), "{name}");
    }
    // What a C library asks for by itself is no attempt of anybody.
    assert_eq!(ask(&world, "fe80::1%lo", A).await, (RCODE::NameError, vec![]));
    assert_eq!(world.told().len(), odd.len());
    // One label with a dot in it is not two.
    let mut dotted = question("", A);
    dotted.truncate(12);
    dotted.extend_from_slice(b"\x0aallow.test\0\0\x01\0\x01");
    assert_eq!(records(&answer(&world, &dotted).await), (RCODE::NameError, vec![]));
    assert_eq!(world.told()[3], "nul\0.allow.test");
    assert_eq!(world.told().last().unwrap(), r"allow\.test");
    assert!(world.refused.lock().unwrap().iter().all(|refusal| refusal.cause == Cause::Grammar));
    assert_eq!(world.lookups.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn transfers_other_classes_and_other_acts_are_refused() {
    let world = World::new(Switch::Refused);
    assert_eq!(ask(&world, "allow.test", AXFR).await.0, RCODE::Refused);
    let mut chaos = question("version.bind", TXT);
    *chaos.last_mut().unwrap() = 3;
    assert_eq!(records(&answer(&world, &chaos).await).0, RCODE::Refused);
    assert_eq!(ask(&world, "", 2).await, (RCODE::NoError, vec![]));
    let mut update = question("allow.test", A);
    update[2] |= 5 << 3;
    assert_eq!(records(&answer(&world, &update).await).0, RCODE::NotImplemented);
}

#[tokio::test]
async fn malformed_messages_get_an_error_or_nothing() {
    let world = World::new(Switch::Refused);
    let good = question("allow.test", A);
    for length in 0..12 {
        assert!(answer(&world, &good[..length]).await.is_empty());
    }
    let mut reply = good.clone();
    reply[2] |= 0x80;
    assert!(answer(&world, &reply).await.is_empty(), "two servers would talk for ever");

    let edit = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    let long: Vec<String> = (0..5).map(|_| "a".repeat(60)).collect();
    let mut twice = extended(good.clone(), 0);
    let record = twice[twice.len() - 11..].to_vec();
    twice.extend_from_slice(&record);
    twice[11] = 2;
    for bad in [
        good[..good.len() - 1].to_vec(),
        [&good[..], &[0]].concat(),
        edit(5, 0),
        edit(5, 2),
        edit(7, 1),
        edit(11, 1),
        edit(10, 0xff),
        // A pointer to itself, a pointer to the header, a label longer than the message, an old label type.
        [&good[..12], &[0xc0, 12, 0, 1, 0, 1]].concat(),
        [&good[..12], &[0xc0, 0, 0, 1, 0, 1]].concat(),
        [&good[..12], &[63, b'a', 0, 0, 1, 0, 1]].concat(),
        [&good[..12], &[0x41, 0, 0, 0, 1, 0, 1]].concat(),
        question(&long.join("."), A),
        twice,
    ] {
        assert_eq!(records(&answer(&world, &bad).await), (RCODE::FormatError, vec![]), "{bad:?}");
    }
    assert_eq!(world.lookups.load(Ordering::Relaxed), 0);
}

#[test]
fn an_answer_that_is_too_long_says_so() {
    let Message::Query(query) = query::read(&extended(question("allow.test", A), 0)) else { panic!() };
    let many = vec![reply::Record::Ptr("a".repeat(63)); 20];
    let answer = reply::Answer::Records(many);
    let cut = reply::write(&query, &answer, Carrier::Datagram);
    let packet = Packet::parse(&cut).unwrap();
    assert!(packet.has_flags(PacketFlag::TRUNCATION) && packet.answers.is_empty() && packet.opt().is_some());
    let whole = reply::write(&query, &answer, Carrier::Stream);
    let packet = Packet::parse(&whole).unwrap();
    assert!(!packet.has_flags(PacketFlag::TRUNCATION) && packet.answers.len() == 20);
}

#[test]
fn the_longest_name_fits_in_the_smallest_datagram() {
    let label = "a".repeat(60);
    let name = [label.as_str(); 4].join(".") + ".allow.test";
    let Message::Query(query) = query::read(&extended(question(&name[1..], A), 0)) else { panic!() };
    assert_eq!(query.question.len(), 255 + 4);
    let query = query::Query { edns: query.edns.map(|edns| query::Edns { size: 0, ..edns }), ..query };
    let bytes = reply::write(&query, &reply::Answer::Blocked("é".repeat(500)), Carrier::Datagram);
    assert!(bytes.len() <= 512 && !Packet::parse(&bytes).unwrap().has_flags(PacketFlag::TRUNCATION));
}

fn blocking<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

proptest! {
    /// Questions the other library writes are understood.
    #[test]
    fn understands_what_others_write(name in "[a-z0-9_]{1,20}(\\.[a-z][a-z0-9]{1,20}){1,4}", id: u16) {
        let mut packet = Packet::new_query(id);
        let host = simple_dns::Name::new_unchecked(&name);
        packet.questions.push(Question::new(host, QTYPE::ANY, QCLASS::CLASS(simple_dns::CLASS::IN), false));
        let bytes = packet.build_bytes_vec().unwrap();
        let Message::Query(query) = query::read(&bytes) else { panic!("{name}") };
        prop_assert_eq!(query.id, id);
        prop_assert_eq!(query.name, query::Asked::Host(Host::Name(name)));
    }

    /// Whatever comes, the answer is nothing or a message.
    #[test]
    fn any_bytes_get_nothing_or_a_message(bytes: Vec<u8>) {
        let answer = blocking(answer(&World::new(Switch::Allowed), &bytes));
        prop_assert!(answer.is_empty() || Packet::parse(&readable(&answer)).is_ok());
    }

    /// The same for bytes that look more like a question.
    #[test]
    fn any_question_gets_a_message(tail: Vec<u8>, extras in 0_u8..3, kind: u16, name in "[a-z.%\\x00]{0,40}") {
        let mut bytes = question(&name, kind);
        bytes[11] = extras;
        bytes.extend_from_slice(&tail);
        let answer = blocking(answer(&World::new(Switch::Allowed), &bytes));
        prop_assert!(Packet::parse(&readable(&answer)).is_ok());
    }
}
