//! Judging what a name leads to, and single requests.

use super::addresses::{self, METADATA_SERVICE, Reach};
use super::host::{Host, Target};
use super::judge::{Basis, NetJudge, built_in};
use super::path;
use super::plan::RequestRule;
use super::ruling::{AddressOwner, Allowance, Cause, NetRefusal, Ruling};
use crate::domain::{self, HostPattern};
use crate::network::DomainRule;
use crate::{NetLimits, RuleRef, Switch, ViolationKind};
use std::net::IpAddr;

impl NetJudge {
    /// Whether an allowed target may lead to this address.
    ///
    /// A name must not lead to this machine, its cloud's metadata service or what nobody can reach, unless that
    /// very address is listed. For a target that is an address itself only what is denied counts, and for
    /// one that merely is public, that it is nobody's own.
    pub fn address(&self, to: &Target, address: IpAddr, owner: AddressOwner) -> Ruling {
        let forms = addresses::forms(address);
        let port_fits = |rule: &DomainRule| rule.pattern.port.is_none_or(|port| port == to.port);
        let is_form = |rule: &DomainRule| match rule.pattern.host {
            HostPattern::Address(literal) => forms.contains(&literal.to_canonical()),
            _ => false,
        };
        if let Some(rule) = self.plan.denied.iter().find(|rule| is_form(rule) && port_fits(rule)) {
            return self.misled(to, address, "which a rule denies", Some(rule));
        }
        let literal = Target { host: Host::from(address), port: to.port };
        let named = self.basis(&literal).filter(|basis| matches!(basis, Basis::Listed(_)));
        let basis = self.basis(to);
        if let Some(Basis::Listed(rule)) = named {
            return allowed(Some(basis.unwrap_or(Basis::Listed(rule))));
        }
        if let Some(network) =
            self.plan.denied_addresses.iter().find(|network| forms.iter().any(|form| network.contains(form)))
        {
            let why = format!("which lies in {network} (network.deniedResolvedAddresses)");
            return self.misled(to, address, &why, None);
        }
        let listed = matches!(basis, Some(Basis::Listed(_)));
        if is_localhost(&to.host) {
            return match addresses::is_loopback(address) {
                true if listed => allowed(basis),
                true => self.misled(to, address, "which is a loopback address", None),
                false => self.misled(to, address, "and localhost is this machine's loopback only", None),
            };
        }
        match addresses::reach(address) {
            Reach::Never(what) => self.misled(to, address, &format!("which is {what}"), None),
            _ if owner == AddressOwner::ThisMachine => {
                self.misled(to, address, "which is this machine's own", None)
            }
            Reach::Private if !listed => self.misled(to, address, "which is not a public address", None),
            Reach::Private if self.plan.private_addresses == Switch::Refused => {
                let why = "which is a private address (network.allowPrivateAddresses is false)";
                self.misled(to, address, why, None)
            }
            Reach::Private | Reach::Public => allowed(basis),
        }
    }

    /// Whether there are rules about single requests to this target: what cannot be seen must not pass then.
    pub fn has_request_rules(&self, to: &Target) -> bool {
        self.plan.requests.iter().any(|rule| about(rule, to))
    }

    /// Whether one request may be sent to an allowed target. The path is without its query.
    pub fn request(&self, to: &Target, method: &str, path: &str) -> Ruling {
        let mut rules = self.plan.requests.iter().filter(|rule| about(rule, to)).peekable();
        if rules.peek().is_none() {
            return allowed(self.basis(to));
        }
        let refused = |reason: &str, rule: Option<RuleRef>, suggestion: Option<String>| {
            Ruling::Refused(Box::new(NetRefusal {
                kind: ViolationKind::Connect,
                subject: format!("{method} {to}{path}"),
                cause: Cause::Request,
                reason: reason.to_owned(),
                told: None,
                rule,
                suggestion,
                askable: Switch::Refused,
            }))
        };
        if self.plan.ambiguous_targets == Switch::Refused && path::is_ambiguous(path) {
            return refused("the path can be read in two ways, so no rule can be about it", None, None);
        }
        let upper = method.to_ascii_uppercase();
        let fits = |rule: &&RequestRule| {
            (rule.methods.is_empty() || rule.methods.contains(&upper))
                && (rule.paths.is_empty() || rule.paths.iter().any(|pattern| path::fits(pattern, path)))
        };
        match rules.find(fits) {
            Some(rule) if rule.verdict == Switch::Allowed => {
                Ruling::Allowed(Allowance { rule: rule.rule.clone(), limits: NetLimits::default() })
            }
            Some(rule) => refused("a rule refuses this request", Some(rule.rule.clone()), None),
            None => {
                let suggestion = format!("a rule in network.requests for {} that allows it", to.host);
                refused("the host has rules about requests and none allows this one", None, Some(suggestion))
            }
        }
    }

    /// A name, or a literal, that leads where it must not.
    fn misled(&self, to: &Target, address: IpAddr, why: &str, rule: Option<&DomainRule>) -> Ruling {
        let shown = Target { host: Host::from(address), port: to.port };
        let mut refusal = self.refusal(ViolationKind::Connect, to.to_string(), Cause::Address, rule);
        refusal.reason = match to.host {
            Host::Name(_) => format!("the name leads to {}, {why}", shown.host),
            Host::Address(_) => format!("it is {}, {why}", shown.host),
        };
        let opens = rule.is_none() && addresses::reach(address) != Reach::Never(METADATA_SERVICE);
        refusal.suggestion = opens.then(|| self.plan.advice.to_allow(&shown.to_string()));
        refusal.told = rule.and_then(|rule| rule.reason.clone());
        Ruling::Refused(Box::new(refusal))
    }
}

fn about(rule: &RequestRule, to: &Target) -> bool {
    to.host.fits(&rule.pattern.host) && rule.pattern.port.is_none_or(|port| port == to.port)
}

fn is_localhost(host: &Host) -> bool {
    matches!(host, Host::Name(name) if name == "localhost" || domain::is_below(name, "localhost"))
}

/// A yes on this ground. Whoever asks about a target that no rule allows (a forwarded port) has no other.
fn allowed(basis: Option<Basis<'_>>) -> Ruling {
    Ruling::Allowed(basis.map_or_else(
        || Allowance { rule: built_in("nothing refuses it", "network"), limits: NetLimits::default() },
        |basis| basis.allowance(),
    ))
}
