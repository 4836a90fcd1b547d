//! Whoever serves a sandbox's doors, as far as the sandbox has something to tell them.

use crate::NetProcess;
use std::net::IpAddr;
use stockade_policy::RuleRef;

/// A connection, or datagrams, that were refused before they came to a door.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnedAway {
    /// The name or address.
    pub host: String,
    /// `host:port`; `host:port/udp` where datagrams are meant.
    pub target: String,
    /// Why, in one sentence.
    pub reason: String,
    /// The rule that decided, where one did.
    pub rule: Option<RuleRef>,
    /// Who tried, where that is known.
    pub process: Option<NetProcess>,
}

/// Whoever serves a sandbox's doors.
pub trait Attendant: Send + Sync {
    /// The name that an address inside stands for, where it stands for one.
    fn name_of(&self, address: IpAddr) -> Option<String>;
    /// Something was turned away. It is a violation already.
    fn turned_away(&self, away: TurnedAway);
    /// One more was, toward this host; there were so many that each is only counted.
    fn counted(&self, host: &str);
}
