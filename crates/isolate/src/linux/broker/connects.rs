//! Connections to internet addresses: which are refused at once, and who made them.

use super::act::Answer;
use super::caller::Identity;
use super::channel::{Said, Who};
use super::process::Broker;
use super::trial::Trial;
use crate::linux::lookup::{NAME_PORT, no_network};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SocketType, getsockname, sockopt};
use std::collections::VecDeque;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use stockade_policy::{
    GatewayPlan, Host, NetJudge, NetworkPlan, Plan, Refusal, Ruling, Switch, Target, ViolationKind,
    lent_number,
};

/// Connections that are remembered.
const MOST: usize = 256;
/// Where lookups are led that nobody answers. Nobody inside can listen there, and what was asked for is heard in the
/// kernel's word that nobody does.
const NOBODY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), NAME_PORT);

/// What is known about the network.
pub(super) struct Network {
    kind: Kind,
    version: u64,
    /// The last connections, oldest first.
    connections: VecDeque<Connection>,
    count: u64,
}

/// What judges addresses.
#[derive(Clone)]
pub(super) enum Kind {
    /// Nothing: it is the host's.
    Host,
    /// There is only loopback.
    Loopback,
    /// The gateway has the last word.
    Gateway(Arc<NetJudge>),
}

struct Connection {
    number: u64,
    to: SocketAddr,
    from: Option<SocketAddr>,
    who: Who,
}

impl Network {
    pub(super) fn new(plan: &Plan) -> Self {
        let kind = match &plan.network {
            NetworkPlan::Host => Kind::Host,
            NetworkPlan::Loopback => Kind::Loopback,
            NetworkPlan::Gateway(plan) => {
                Kind::Gateway(Arc::new(NetJudge::new(Arc::new(plan.as_ref().clone()))))
            }
        };
        Self { kind, version: 0, connections: VecDeque::new(), count: 0 }
    }

    /// What judges addresses.
    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    fn remember(&mut self, to: SocketAddr, who: Who) -> u64 {
        if self.connections.len() >= MOST {
            self.connections.pop_front();
        }
        self.count += 1;
        self.connections.push_back(Connection { number: self.count, to, from: None, who });
        self.count
    }

    /// Notes where a connection comes from; who made it, where that is still known and anybody wants to know:
    /// about who asks for names a gateway keeps nothing.
    fn comes_from(&mut self, number: u64, from: SocketAddr) -> Option<(SocketAddr, Who)> {
        let known = self.connections.iter_mut().rev().find(|connection| connection.number == number)?;
        known.from = Some(from);
        let is_wanted = known.to.port() != NAME_PORT || matches!(self.kind, Kind::Loopback);
        is_wanted.then(|| (known.to, known.who.clone()))
    }

    /// Who connected from `peer`, or to `destination` last.
    fn who(&self, peer: Option<SocketAddr>, destination: Option<SocketAddr>) -> Option<Who> {
        let (peer, destination) = (peer.map(canonical), destination.map(canonical));
        let mut latest_first = self.connections.iter().rev();
        let exact = latest_first.clone().find(|connection| peer.is_some() && connection.from == peer);
        // One whose own end is known to be another is not it.
        let mut near = || {
            latest_first
                .find(|known| Some(known.to) == destination && (peer.is_none() || known.from.is_none()))
        };
        exact.or_else(&mut near).map(|connection| connection.who.clone())
    }
}

impl Broker {
    /// Says who made a connection.
    pub(super) fn say_who(&self, id: u64, peer: Option<SocketAddr>, destination: Option<SocketAddr>) {
        let who = self.network().who(peer, destination);
        self.say(&Said::Connected { id, who });
    }

    /// Judges addresses by other rules from now on.
    pub(super) fn change_network(&self, version: u64, file: OwnedFd) {
        // What cannot be read was not written by the launcher.
        let Ok(plan) = read_plan(file) else { return };
        let judge = Kind::Gateway(Arc::new(NetJudge::new(Arc::new(plan))));
        let mut network = self.network();
        if version > network.version {
            (network.version, network.kind) = (version, judge);
        }
    }

    /// Notes where a connection that was remembered comes from, and tells: once it is over nobody here may
    /// remember it.
    pub(super) fn note_origin(&self, number: u64, socket: &OwnedFd) {
        let from = getsockname(socket).ok().and_then(|address| SocketAddr::try_from(address).ok());
        let Some(from) = from.map(canonical) else { return };
        let known = self.network().comes_from(number, from);
        if let Some((to, who)) = known {
            self.say(&Said::Origin { from, to: Some(to), who });
        }
    }
}

impl Trial<'_> {
    /// Judges a connection to an internet address. `Err` holds the answer where it is refused here.
    pub(super) fn judge_internet(&self, socket: &OwnedFd, address: Vec<u8>) -> Result<Onward, Answer> {
        let straight = |address| Ok(Onward { address, remembered: None });
        let Some(to) = internet_address(&address).map(canonical) else { return straight(address) };
        let broker = self.caller.broker;
        let kind = broker.network().kind.clone();
        match kind {
            Kind::Host => straight(address),
            Kind::Loopback if to.port() == NAME_PORT && sends_datagrams(socket) => {
                let led = if is_loopback(to.ip()) { None } else { same_kind_of_address(&address, NOBODY) };
                let remembered = Some(broker.network().remember(to, self.who()));
                Ok(Onward { address: led.unwrap_or(address), remembered })
            }
            Kind::Loopback => {
                if !is_loopback(to.ip()) && to.port() != 0 {
                    if sends_datagrams(socket) {
                        self.record_datagram_without_network(to);
                    } else {
                        self.record(ViolationKind::Connect, to.to_string(), &no_network());
                    }
                }
                straight(address)
            }
            Kind::Gateway(judge) => {
                // Connecting sends nothing where it is about datagrams, and programs do it to put addresses
                // in order. What they send afterwards goes nowhere, and that is told.
                let leads_on = is_loopback(to.ip())
                    || lent_number(to.ip()).is_some()
                    || to.port() == NAME_PORT
                    || sends_datagrams(socket);
                if !leads_on && let Some((kind, subject, refusal)) = refused(&judge, to) {
                    self.turn_away(kind, subject, &refusal, to);
                    return Err(Answer::Refused(Errno::CONNREFUSED));
                }
                Ok(Onward { address, remembered: Some(broker.network().remember(to, self.who())) })
            }
        }
    }

    fn who(&self) -> Who {
        let Identity { pid, session, program } = self.caller.identity();
        Who { pid, session, program }
    }
}

/// Where a connection goes, and the number under which it is remembered, where it is.
pub(super) struct Onward {
    pub(super) address: Vec<u8>,
    pub(super) remembered: Option<u64>,
}

/// A refusal that nobody can be asked about.
fn refused(judge: &NetJudge, to: SocketAddr) -> Option<(ViolationKind, String, Refusal)> {
    let target = Target { host: Host::from(to.ip()), port: to.port() };
    match judge.connect(&target, None) {
        Ruling::Refused(refusal) if refusal.askable == Switch::Refused => {
            let told = Refusal {
                rule: refusal.rule,
                reason: refusal.reason,
                suggestion: refusal.suggestion,
                grantable: Switch::Refused,
            };
            Some((refusal.kind, refusal.subject, told))
        }
        _ => None,
    }
}

pub(super) fn sends_datagrams(socket: &OwnedFd) -> bool {
    sockopt::socket_type(socket) == Ok(SocketType::DGRAM)
}

fn read_plan(file: OwnedFd) -> Result<GatewayPlan, Errno> {
    let file = File::from(file);
    let length = file.metadata().map_err(|_| Errno::IO)?.len();
    let mut text = vec![0; usize::try_from(length).map_err(|_| Errno::FBIG)?];
    file.read_exact_at(&mut text, 0).map_err(|_| Errno::IO)?;
    serde_json::from_slice(&text).map_err(|_| Errno::BADMSG)
}

/// The address in a `sockaddr_in` or `sockaddr_in6`.
pub(super) fn internet_address(bytes: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let ip = match family {
        libc::AF_INET => IpAddr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok()?),
        libc::AF_INET6 => IpAddr::from(<[u8; 16]>::try_from(bytes.get(8..24)?).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// An IPv4 address in the form of another one.
fn same_kind_of_address(like: &[u8], to: SocketAddr) -> Option<Vec<u8>> {
    let IpAddr::V4(ip) = to.ip() else { return None };
    let mut address = like.to_vec();
    address.get_mut(2..4)?.copy_from_slice(&to.port().to_be_bytes());
    match i32::from(u16::from_ne_bytes(like.get(..2)?.try_into().ok()?)) {
        libc::AF_INET => address.get_mut(4..8)?.copy_from_slice(&ip.octets()),
        libc::AF_INET6 => address.get_mut(8..24)?.copy_from_slice(&ip.to_ipv6_mapped().octets()),
        _ => return None,
    }
    Some(address)
}

/// One spelling for an address: IPv4 in IPv6 clothes is IPv4, and flow and scope do not count.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The unspecified address means this very machine, too.
pub(super) fn is_loopback(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(pid: u32) -> Who {
        Who { pid, session: 1, program: None }
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_are_read_as_the_kernel_does() {
        let mut four = vec![libc::AF_INET as u8, 0, 1, 187, 203, 0, 113, 9];
        four.extend([0; 8]);
        assert_eq!(internet_address(&four), Some(address("203.0.113.9:443")));
        let mut six = vec![libc::AF_INET6 as u8, 0, 0, 53, 0, 0, 0, 0];
        six.extend(Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets());
        six.extend([0; 4]);
        assert_eq!(internet_address(&six).map(canonical), Some(address("127.0.0.1:53")));
        assert_eq!(internet_address(&four[..7]), None);
        for like in [&four, &six] {
            let led = same_kind_of_address(like, NOBODY).unwrap();
            assert_eq!((led.len(), internet_address(&led).map(canonical)), (like.len(), Some(NOBODY)));
        }
        assert_eq!(internet_address(&[0; 16]), None);
    }

    #[test]
    fn a_connection_is_known_by_its_own_end_and_else_by_the_last_one_there() {
        let mut network =
            Network { kind: Kind::Loopback, version: 0, connections: VecDeque::new(), count: 0 };
        let to = address("127.0.0.1:3128");
        let first = network.remember(to, who(1));
        network.remember(to, who(2));
        network.comes_from(first, address("127.0.0.1:40000"));
        assert_eq!(network.who(Some(address("127.0.0.1:40000")), Some(to)), Some(who(1)));
        assert_eq!(network.who(Some(address("[::ffff:127.0.0.1]:40000")), None), Some(who(1)));
        assert_eq!(network.who(Some(address("127.0.0.1:40001")), Some(to)), Some(who(2)));
        assert_eq!(network.who(None, Some(to)), Some(who(2)));
        assert_eq!(network.who(None, Some(address("127.0.0.1:3129"))), None);
        for pid in 0..MOST as u32 {
            network.remember(address("10.0.0.1:1"), who(pid));
        }
        assert_eq!(network.who(None, Some(to)), None);
        assert_eq!(network.connections.len(), MOST);
    }
}
