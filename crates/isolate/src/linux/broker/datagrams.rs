//! Datagrams: none leaves the sandbox, and whoever sends one with an address hears so at once.
//!
//! What comes through here is for records and quick answers. The wall is the network without a way out.

use super::act::Answer;
use super::caller::Identity;
use super::channel::{Away, Said, Transport, Who};
use super::connects::{
    Kind, NAME_PORT, canonical, internet_address, is_loopback, no_network, sends_datagrams,
};
use super::tally::Telling;
use super::trial::Trial;
use crate::linux::turned_away::NO_DATAGRAMS;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::getsockname;
use std::net::SocketAddr;
use stockade_policy::{Refusal, Switch, ViolationKind};

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
            self.record_datagram(ViolationKind::Connect, to, &no_datagrams(), Some(Transport::Udp));
            return Ok(Answer::Refused(Errno::CONNREFUSED));
        }
        let (kind, refusal) = datagram_without_network(to);
        self.record_datagram(kind, to, &refusal, None);
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
        broker.say(&Said::Origin { from, who: Who { pid, session, program } });
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

    /// Records the first datagram of a program to a destination; more of them are counted.
    pub(super) fn record_datagram(
        &self,
        kind: ViolationKind,
        to: SocketAddr,
        refusal: &Refusal,
        gateway: Option<Transport>,
    ) {
        let noted = self.note(kind, subject(kind, to), refusal);
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

/// What a datagram is called: a lookup by its server.
fn subject(kind: ViolationKind, to: SocketAddr) -> String {
    if kind == ViolationKind::Resolve { to.to_string() } else { format!("{to}/udp") }
}

/// What a datagram is without any network. Lookups come with one, other datagrams with nothing.
pub(super) fn datagram_without_network(to: SocketAddr) -> (ViolationKind, Refusal) {
    if to.port() == NAME_PORT {
        return (ViolationKind::Resolve, no_network());
    }
    (ViolationKind::Connect, Refusal { suggestion: None, ..no_network() })
}

fn no_datagrams() -> Refusal {
    Refusal::flat(NO_DATAGRAMS)
}
