//! What the judge says.

use crate::{NetLimits, RuleRef, Switch, ViolationKind};

/// Yes or no.
#[derive(Clone, Debug, PartialEq)]
pub enum Ruling {
    /// It may be done.
    Allowed(Allowance),
    /// It may not.
    Refused(Box<NetRefusal>),
}

/// A yes, with what comes along.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowance {
    /// The rule that allowed it.
    pub rule: RuleRef,
    /// The limits of that rule alone.
    pub limits: NetLimits,
}

/// A no, with everything a person should know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct NetRefusal {
    /// What was tried: `Connect`, `Resolve` or `Limit`.
    pub kind: ViolationKind,
    /// `host:port`, the name, or `METHOD host:port/path`.
    pub subject: String,
    /// Which kind of no.
    pub cause: Cause,
    /// Why, in one sentence.
    pub reason: String,
    /// What the settings want whoever is refused to be told (`deniedDomainReasons`).
    pub told: Option<String>,
    /// The rule that decided, where one did.
    pub rule: Option<RuleRef>,
    /// The option that would have allowed it.
    pub suggestion: Option<String>,
    /// Whether a person may be asked to allow it.
    pub askable: Switch,
}

/// Which kind of no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// On no list.
    NotListed,
    /// On the deny list.
    Denied,
    /// The host is allowed on other ports.
    Port,
    /// The host is allowed with other protocols.
    Protocol,
    /// The name leads to an address it must not lead to.
    Address,
    /// A rule about requests.
    Request,
    /// Names that must agree differ.
    Mismatch,
    /// A limit was reached.
    Limit,
    /// Not a host name, or not a request.
    Grammar,
    /// What stands for a secret was sent where it is not replaced.
    StandIn,
}

/// Whose address it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressOwner {
    /// One of this machine's interfaces has it.
    ThisMachine,
    /// Somebody else's.
    Elsewhere,
}
