//! What a question is answered with.

use super::names::{Names, Standing};
use super::query::{Asked, Query};
use super::reply::{Answer, Record};
use super::reverse;
use super::wire::{INTERNET, Kind, Rcode};
use crate::BoxFuture;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade_policy::{Cause, Host, NetJudge, NetRefusal, Ruling, Switch, ViolationKind};

/// As long as a lookup on the host may take. Programs have given up or asked again by then.
const PATIENCE: Duration = Duration::from_secs(10);
/// Names that resolvers and browsers ask for on their own, to find out where they are. Nobody wants to
/// connect there, so that a refusal is not worth telling.
const PROBES: [&str; 3] = ["_dns.resolver.arpa", "ipv4only.arpa", "use-application-dns.net"];

/// What the resolver has to know from the gateway.
pub(crate) trait Surroundings: Send + Sync + 'static {
    /// The judge of the moment.
    fn judge(&self) -> Arc<NetJudge>;
    /// The pool.
    fn names(&self) -> &Names;
    /// A name was refused.
    fn refuse(&self, refusal: NetRefusal);
    /// Whether there is such a name, as far as the host knows.
    fn exists<'a>(&'a self, host: &'a Host) -> BoxFuture<'a, io::Result<Existence>>;
}

/// Whether there is such a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existence {
    /// There is.
    Real,
    /// There is not.
    Unknown,
}

/// How far a question can be answered without waiting.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// All the way.
    Done(Answer),
    /// An allowed name: the host has to be asked whether it exists.
    LookUp(Host),
}

/// Answers what can be answered without asking anybody. Nothing here leaves the machine.
pub(super) fn consider(around: &impl Surroundings, query: &Query) -> Step {
    if query.edns.is_some_and(|edns| edns.version > 0) {
        return Step::Done(Answer::Rcode(Rcode::BAD_VERSION));
    }
    if query.class != INTERNET || query.kind.is_transfer() {
        return Step::Done(Answer::Rcode(Rcode::REFUSED));
    }
    let host = match &query.name {
        Asked::Root => return Step::Done(Answer::Nothing),
        Asked::Odd { shown, .. } if is_zoned(shown) => return Step::Done(Answer::NoSuchName),
        Asked::Odd { shown, error } => return Step::Done(odd(around, shown, error.to_string())),
        Asked::Host(host @ Host::Address(_)) => {
            return Step::Done(odd(around, &host.to_string(), "an address needs no lookup".into()));
        }
        Asked::Host(host @ Host::Name(name)) => {
            if let Some(answer) = known_without_judging(around.names(), name, query.kind) {
                return Step::Done(answer);
            }
            host
        }
    };
    let refusal = match around.judge().name(host) {
        Ruling::Allowed(_) => return Step::LookUp(host.clone()),
        Ruling::Refused(refusal) => refusal,
    };
    // Whoever is asked wants to know the port too: the question is put when the connection comes.
    // Where too many such names have addresses already nobody is asked about another.
    if refusal.askable == Switch::Allowed
        && let Some(answer) = from_pool(around.names(), host, Standing::Askable, query.kind)
    {
        return Step::Done(answer);
    }
    let told = refusal.told.clone().unwrap_or_else(|| refusal.reason.clone());
    if !PROBES.contains(&refusal.subject.as_str()) {
        tell(around, *refusal);
    }
    Step::Done(Answer::Blocked(told))
}

/// Answers for an allowed name, once the host has said whether it exists.
pub(super) async fn look_up(around: &impl Surroundings, host: &Host, kind: Kind) -> Answer {
    let failed = Answer::Rcode(Rcode::FAILED);
    let names = around.names();
    let place = match around.judge().lists(host) || names.has(host) {
        true => names.room.for_familiar(),
        false => names.room.for_lookup(),
    };
    // At once: whoever waits keeps a place from others.
    let Some(_place) = place else { return failed };
    let answer = match tokio::time::timeout(PATIENCE, around.exists(host)).await {
        Ok(Ok(Existence::Real)) => {
            return from_pool(around.names(), host, Standing::Allowed, kind).unwrap_or(failed);
        }
        Ok(Ok(Existence::Unknown)) => Answer::NoSuchName,
        Ok(Err(_)) | Err(_) => failed,
    };
    around.names().hush.came_to_nothing(&host.to_string(), Instant::now());
    answer
}

/// Loopback, and addresses turned into names.
fn known_without_judging(names: &Names, name: &str, kind: Kind) -> Option<Answer> {
    if names.is_own(name) {
        return Some(addresses(Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST, kind));
    }
    let address = reverse::address_of(name)?;
    let found = match address.is_loopback() {
        true => Some("localhost".to_owned()),
        false => names.host_of(address).map(|host| host.to_string()),
    };
    Some(match found {
        Some(name) if kind == Kind::PTR || kind == Kind::ANY => Answer::Records(vec![Record::Ptr(name)]),
        Some(_) => Answer::Nothing,
        None => Answer::NoSuchName,
    })
}

/// Addresses for a name, in both families whatever the name has outside: the gateway takes both. Nothing where
/// there is no room for another such name.
///
/// Of all other kinds there is nothing. Programs that look for services or mail that way fall back to the
/// name itself, and texts and keys would be a road for data that no connection rule judges.
fn from_pool(names: &Names, host: &Host, standing: Standing, kind: Kind) -> Option<Answer> {
    let (four, six) = names.addresses(host, standing)?;
    let answer = addresses(four, six, kind);
    if answer == Answer::Nothing {
        names.hush.came_to_nothing(&host.to_string(), Instant::now());
    }
    Some(answer)
}

fn addresses(four: Ipv4Addr, six: Ipv6Addr, kind: Kind) -> Answer {
    match kind {
        Kind::A => Answer::Records(vec![Record::A(four)]),
        Kind::AAAA => Answer::Records(vec![Record::Aaaa(six)]),
        Kind::ANY => Answer::Records(vec![Record::A(four), Record::Aaaa(six)]),
        _ => Answer::Nothing,
    }
}

/// An address with a zone, like `fe80::1%eth0`: C libraries ask for those they cannot read by themselves.
fn is_zoned(name: &str) -> bool {
    name.split_once('%').is_some_and(|(address, _)| address.parse::<Ipv6Addr>().is_ok())
}

/// Refuses what is no name of a host.
fn odd(around: &impl Surroundings, shown: &str, reason: String) -> Answer {
    tell(
        around,
        NetRefusal {
            kind: ViolationKind::Resolve,
            subject: shown.to_owned(),
            cause: Cause::Grammar,
            reason: reason.clone(),
            told: None,
            rule: None,
            suggestion: None,
            askable: Switch::Refused,
        },
    );
    Answer::Blocked(reason)
}

fn tell(around: &impl Surroundings, refusal: NetRefusal) {
    if around.names().hush.may_tell(&refusal.subject, Instant::now()) {
        around.refuse(refusal);
    }
}
