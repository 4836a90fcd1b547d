//! Judging names and connections.

use super::addresses::{self, Reach};
use super::host::{Host, Target};
use super::plan::GatewayPlan;
use super::ruling::{Allowance, Cause, NetRefusal, Ruling};
use super::table::Table;
use crate::domain;
use crate::network::DomainRule;
use crate::settings::Protocol;
use crate::{Layer, NetLimits, Origin, RuleRef, Switch, ViolationKind};
use std::sync::Arc;

/// Judges by a plan.
#[derive(Clone, Debug)]
pub struct NetJudge {
    pub(super) plan: Arc<GatewayPlan>,
    allowed: Table,
    pub(super) denied: Table,
}

/// Why a host may be reached.
pub(super) enum Basis<'a> {
    /// A rule names it.
    Listed(&'a DomainRule),
    /// Every public host may be.
    Public,
}

impl Basis<'_> {
    pub(super) fn allowance(&self) -> Allowance {
        match self {
            Self::Listed(rule) => Allowance { rule: rule.rule.clone(), limits: rule.limits },
            Self::Public => Allowance {
                rule: built_in("network.allowPublicHosts true", "public hosts"),
                limits: NetLimits::default(),
            },
        }
    }
}

/// Names that are never somebody's public host.
const NOT_PUBLIC: [&str; 6] = ["localhost", "local", "internal", "lan", "home.arpa", "onion"];

impl NetJudge {
    /// A judge for this plan.
    pub fn new(plan: Arc<GatewayPlan>) -> Self {
        let (allowed, denied) = (Table::new(&plan.allowed), Table::new(&plan.denied));
        Self { plan, allowed, denied }
    }

    /// The plan.
    pub fn plan(&self) -> &GatewayPlan {
        &self.plan
    }

    /// Whether a connection that was let through without its protocol being known must be judged again once
    /// it is. A rule that names a port says enough about what is spoken there.
    pub fn needs_protocol(&self, to: &Target) -> bool {
        let named = matches!(self.basis(to), Some(Basis::Listed(rule)) if rule.pattern.port.is_some());
        !named && !self.plan.protocols.is_empty() && !self.plan.protocols.contains(&Protocol::Tcp)
    }

    /// Whether a rule allows this very host, and not just some among which it is.
    pub fn lists(&self, host: &Host) -> bool {
        self.allowed.has(host)
    }

    /// Whether a name may be looked up: some port of it may be reached.
    pub fn name(&self, host: &Host) -> Ruling {
        let denied = self.about(&self.denied, &self.plan.denied, host);
        let refused = |cause, rule| self.refuse(ViolationKind::Resolve, host.to_string(), cause, rule);
        if let Some(rule) = denied.iter().find(|rule| rule.pattern.port.is_none()) {
            return refused(Cause::Denied, Some(rule));
        }
        let barred = |port: u16| denied.iter().find(|rule| rule.pattern.port == Some(port)).copied();
        let mut beaten = None;
        let mut open = |port: Option<u16>| match port {
            Some(port) => {
                beaten = beaten.or(barred(port));
                barred(port).is_none()
            }
            // There are more ports than anybody denied.
            None if self.plan.ports.is_empty() => true,
            None => {
                beaten = beaten.or(self.plan.ports.iter().find_map(|port| barred(*port)));
                self.plan.ports.iter().any(|port| barred(*port).is_none())
            }
        };
        for rule in self.about(&self.allowed, &self.plan.allowed, host) {
            if open(rule.pattern.port) {
                return Ruling::Allowed(Basis::Listed(rule).allowance());
            }
        }
        if self.is_public(host) && open(None) {
            return Ruling::Allowed(Basis::Public.allowance());
        }
        match beaten {
            Some(rule) => refused(Cause::Denied, Some(rule)),
            None => refused(Cause::NotListed, None),
        }
    }

    /// Whether a connection may be made. `spoken` is what is known about its protocol.
    ///
    /// While nothing is known (`None`) a connection is let through even where the plan names protocols: some
    /// servers speak first. Where [`needs_protocol`](Self::needs_protocol) says so, whoever carries it must
    /// come again with what was spoken before anything from inside goes out.
    pub fn connect(&self, to: &Target, spoken: Option<Protocol>) -> Ruling {
        let refused = |cause, rule| self.refuse(ViolationKind::Connect, to.to_string(), cause, rule);
        let port_fits = |rule: &&DomainRule| rule.pattern.port.is_none_or(|port| port == to.port);
        let denied = self.about(&self.denied, &self.plan.denied, &to.host);
        if let Some(rule) = denied.into_iter().find(port_fits) {
            return refused(Cause::Denied, Some(rule));
        }
        if self.plan.host_loopback == Switch::Refused && is_own(&to.host) {
            return self.own_loopback(to);
        }
        let allowance = match self.basis(to) {
            Some(basis) => basis.allowance(),
            None => {
                let elsewhere = self.about(&self.allowed, &self.plan.allowed, &to.host).into_iter().next();
                return match elsewhere {
                    Some(rule) => refused(Cause::Port, Some(rule)),
                    None if self.is_public(&to.host) => refused(Cause::Port, None),
                    None => refused(Cause::NotListed, None),
                };
            }
        };
        match spoken {
            Some(protocol) if self.needs_protocol(to) && !self.plan.protocols.contains(&protocol) => {
                let mut refusal = self.refusal(ViolationKind::Connect, to.to_string(), Cause::Protocol, None);
                refusal.rule = Some(allowance.rule);
                refusal.reason = format!("the rules let no {} through", shown(protocol));
                refusal.suggestion =
                    Some(format!("\"network\": {{\"protocols\": [..., \"{}\"]}}", shown(protocol)));
                Ruling::Refused(Box::new(refusal))
            }
            _ => Ruling::Allowed(allowance),
        }
    }

    /// Whoever means the loopback comes here through a proxy only: programs that use none never leave the
    /// sandbox's own.
    fn own_loopback(&self, to: &Target) -> Ruling {
        let mut refusal = self.refusal(ViolationKind::Connect, to.to_string(), Cause::Address, None);
        refusal.reason =
            "loopback inside is the sandbox's own, and no list of hosts leads to this machine's".to_owned();
        refusal.suggestion = Some(format!("--forward-port {}", to.port));
        Ruling::Refused(Box::new(refusal))
    }

    /// Why a target may be reached, deny rules aside.
    pub(super) fn basis(&self, to: &Target) -> Option<Basis<'_>> {
        let usual = self.plan.ports.is_empty() || self.plan.ports.contains(&to.port);
        let fits = |rule: &&DomainRule| rule.pattern.port.map_or(usual, |port| port == to.port);
        let rules: Vec<&DomainRule> =
            self.about(&self.allowed, &self.plan.allowed, &to.host).into_iter().filter(fits).collect();
        // The nearest rule speaks; one that names the port is nearer than one that does not.
        let named = rules.iter().find(|rule| rule.pattern.port.is_some());
        match named.or(rules.first()) {
            Some(rule) => Some(Basis::Listed(rule)),
            None => (usual && self.is_public(&to.host)).then_some(Basis::Public),
        }
    }

    /// Whether this is a host that needs no rule because everybody can reach it. An address is none: behind it
    /// may be a host whose name is denied.
    fn is_public(&self, host: &Host) -> bool {
        self.plan.public_hosts == Switch::Allowed
            && match host {
                Host::Name(name) => {
                    name.contains('.')
                        && !NOT_PUBLIC.iter().any(|above| domain::is_below(name, above) || name == above)
                }
                Host::Address(_) => false,
            }
    }

    fn about<'a>(&self, table: &Table, rules: &'a [DomainRule], host: &Host) -> Vec<&'a DomainRule> {
        table.about(host).into_iter().filter_map(|index| rules.get(index)).collect()
    }

    fn refuse(
        &self,
        kind: ViolationKind,
        subject: String,
        cause: Cause,
        rule: Option<&DomainRule>,
    ) -> Ruling {
        Ruling::Refused(Box::new(self.refusal(kind, subject, cause, rule)))
    }

    /// A no about a host, in words.
    pub(super) fn refusal(
        &self,
        kind: ViolationKind,
        subject: String,
        cause: Cause,
        rule: Option<&DomainRule>,
    ) -> NetRefusal {
        let reason = match cause {
            Cause::Denied => "a rule denies the host",
            Cause::Port => "the host may be reached on other ports only",
            Cause::NotListed if self.plan.allowed.is_empty() && self.plan.public_hosts == Switch::Refused => {
                "no host is allowed"
            }
            Cause::NotListed if self.plan.public_hosts == Switch::Allowed && is_address(&subject) => {
                "public hosts are allowed by name only, and this address is on no list"
            }
            Cause::NotListed => "the host is on no list of allowed ones",
            _ => "it is refused",
        };
        let opens = matches!(cause, Cause::NotListed | Cause::Port);
        NetRefusal {
            kind,
            cause,
            reason: reason.to_owned(),
            told: rule.filter(|_| cause == Cause::Denied).and_then(|rule| rule.reason.clone()),
            rule: rule.map(|rule| rule.rule.clone()),
            suggestion: opens.then(|| self.plan.advice.to_allow(&subject)),
            askable: if opens && !is_forbidden_literal(&subject) {
                self.plan.asking
            } else {
                Switch::Refused
            },
            subject,
        }
    }
}

fn is_address(subject: &str) -> bool {
    let target = Target::parse(subject.as_bytes(), Some(1));
    matches!(target, Ok(Target { host: Host::Address(_), .. }))
}

/// A literal that leads to this machine or its cloud is named in settings by somebody who knows, not allowed by
/// an answer to a question.
fn is_forbidden_literal(subject: &str) -> bool {
    let host = Target::parse(subject.as_bytes(), Some(1)).map(|target| target.host);
    match host {
        Ok(Host::Address(address)) => matches!(addresses::reach(address), Reach::Never(_)),
        // Inside it is the sandbox itself; through a proxy it would be this machine, which nobody would guess.
        Ok(host @ Host::Name(_)) => is_own(&host),
        Err(_) => false,
    }
}

/// Whether this is loopback, by name or address.
fn is_own(host: &Host) -> bool {
    match host {
        Host::Name(name) => name == "localhost" || domain::is_below(name, "localhost"),
        Host::Address(address) => addresses::is_own(*address),
    }
}

/// A rule nobody wrote.
pub(super) fn built_in(text: &str, source: &str) -> RuleRef {
    let origin = Origin { layer: Layer::BuiltIn, source: source.to_owned(), key: String::new() };
    RuleRef { text: text.to_owned(), origin }
}

fn shown(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http => "http",
        Protocol::Https => "https",
        Protocol::Ssh => "ssh",
        Protocol::Git => "git",
        Protocol::Tcp => "tcp",
    }
}
