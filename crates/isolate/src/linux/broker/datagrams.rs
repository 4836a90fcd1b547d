//! Datagrams: none leaves the sandbox, and whoever sends one with an address hears so at once.
//!
//! What comes through here is for records and quick answers. The wall is the network without a way out.

use super::act::Answer;
use super::caller::Identity;
use super::channel::{Away, Said, Transport, Who};
use super::connects::{Kind, canonical, internet_address, is_loopback, sends_datagrams};
use super::tally::Telling;
use super::trial::Trial;
use crate::linux::lookup::{self, NAME_PORT, name_in, no_network};
use crate::linux::turned_away::NO_DATAGRAMS;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::getsockname;
use std::net::SocketAddr;
use stockade_policy::{Refusal, Switch, ViolationKind};

/// As long as a query may be that goes in one datagram.
const LONGEST_QUERY: usize = 512;

impl Trial<'_> {
    /// Judges a datagram by its address. Those for loopback and for the resolver are many, and are let go
    /// after one look.
    pub(super) fn send_to(&self, socket: i32, address: u64, length: u64) -> Result<Answer, Errno> {
        let bytes = self.address(address, length)?;
        let Some(to) = internet_address(&bytes).map(canonical) else { return Ok(Answer::GoOn) };
        if is_loopback(to.ip()) {
            return Ok(Answer::GoOn);
        }
        let has_gateway = match self.caller.broker.network().kind() {
            Kind::Host => return Ok(Answer::GoOn),
            Kind::Gateway(_) if to.port() == NAME_PORT => return Ok(Answer::GoOn),
            Kind::Gateway(_) => true,
            Kind::Loopback => false,
        };
        // A stream that is connected does not care for the address.
        if !sends_datagrams(&self.caller.descriptor(socket)?) {
            return Ok(Answer::GoOn);
        }
        if has_gateway {
            self.record_datagram(to, &no_datagrams(), Some(Transport::Udp));
            return Ok(Answer::Refused(Errno::CONNREFUSED));
        }
        if to.port() == NAME_PORT {
            self.record_lookup(to);
        } else {
            self.record_datagram_without_network(to);
        }
        // The kernel knows no way there, and says so.
        Ok(Answer::GoOn)
    }

    /// Tells who may send from a port: what is sent with an address that the filter cannot see has no other
    /// sign of its sender.
    pub(super) fn note_bound(&self, socket: &OwnedFd) {
        let broker = self.caller.broker;
        if !matches!(broker.network().kind(), Kind::Gateway(_)) || !sends_datagrams(socket) {
            return;
        }
        let bound = getsockname(socket).ok().and_then(|address| SocketAddr::try_from(address).ok());
        let Some(from) = bound.map(canonical) else { return };
        let Identity { pid, session, program } = self.caller.identity();
        broker.say(&Said::Origin { from, to: None, who: Who { pid, session, program } });
    }

    /// A socket for echo requests.
    pub(super) fn ping(&self) -> Answer {
        let refusal = Refusal {
            rule: None,
            reason: "only TCP and name lookups leave the sandbox; echo requests (ping) do not".into(),
            suggestion: None,
            grantable: Switch::Refused,
        };
        let [family, kind, protocol, ..] = self.caller.held.arguments;
        let subject = format!("socket({family:#x}, {kind:#x}, {protocol:#x})");
        self.record(ViolationKind::Syscall, subject, &refusal);
        Answer::Refused(Errno::ACCESS)
    }

    /// Records a lookup that is sent with its server's address: what it asks for stands in the caller's memory.
    fn record_lookup(&self, server: SocketAddr) {
        let [_, query, length, ..] = self.caller.held.arguments;
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(LONGEST_QUERY);
        let name = self.caller.memory(query, length).ok().and_then(|query| name_in(&query));
        let (kind, subject, refusal) = lookup::refused(name, server);
        let noted = self.note(kind, subject, &refusal);
        let program = noted.program.as_deref().unwrap_or_default();
        let telling = self.caller.broker.tally().lookup(&noted.subject, program);
        match telling {
            Some(Telling::InFull) => self.caller.broker.say(&Said::Refused(noted)),
            Some(Telling::AsOneMore) => self.caller.broker.say(&Said::OneMore),
            None => {}
        }
    }

    /// Datagrams come with no network that can be allowed.
    pub(super) fn record_datagram_without_network(&self, to: SocketAddr) {
        self.record_datagram(to, &Refusal { suggestion: None, ..no_network() }, None);
    }

    /// Records the first datagram of a program to a destination; more of them are counted.
    fn record_datagram(&self, to: SocketAddr, refusal: &Refusal, gateway: Option<Transport>) {
        let kind = ViolationKind::Connect;
        let noted = self.note(kind, format!("{to}/udp"), refusal);
        let program = noted.program.as_deref().unwrap_or_default();
        let telling = self.caller.broker.tally().first_of(kind, &noted.subject, program);
        let away = gateway.map(|over| Away { to, over });
        self.caller.broker.say(&match (telling, away) {
            (Telling::InFull, Some(away)) => Said::TurnedAway { noted, away },
            (Telling::InFull, None) => Said::Refused(noted),
            (Telling::AsOneMore, Some(away)) => Said::OneMoreAway(away),
            (Telling::AsOneMore, None) => Said::OneMore,
        });
    }
}

fn no_datagrams() -> Refusal {
    Refusal::flat(NO_DATAGRAMS)
}
