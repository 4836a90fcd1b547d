//! The judge against tables and a plain model.

mod addresses;
mod connections;
mod hosts;
mod model;
mod requests;

use super::{GatewayPlan, Host, NetJudge, NetRefusal, Ruling, Target};
use crate::domain::DomainPattern;
use crate::network::DomainRule;
use crate::{Layer, NetLimits, Origin, RuleRef, Switch};
use std::sync::Arc;

/// A rule as somebody would write it.
fn rule(list: &str, text: &str) -> DomainRule {
    let origin = Origin { layer: Layer::User, source: "settings.json".into(), key: list.into() };
    DomainRule {
        pattern: DomainPattern::parse_denied(text).unwrap(),
        reason: None,
        limits: NetLimits::default(),
        rule: RuleRef { text: format!("{list} {text}"), origin },
    }
}

/// A plan with these two lists, on which somebody can be asked.
fn plan(allowed: &[&str], denied: &[&str]) -> GatewayPlan {
    GatewayPlan {
        allowed: allowed.iter().map(|text| rule("allowedDomains", text)).collect(),
        denied: denied.iter().map(|text| rule("deniedDomains", text)).collect(),
        private_addresses: Switch::Allowed,
        asking: Switch::Allowed,
        ..GatewayPlan::default()
    }
}

fn judge(plan: GatewayPlan) -> NetJudge {
    NetJudge::new(Arc::new(plan))
}

fn host(text: &str) -> Host {
    Host::parse(text.as_bytes()).unwrap()
}

fn target(text: &str) -> Target {
    Target::parse(text.as_bytes(), None).unwrap()
}

fn refusal(ruling: Ruling) -> NetRefusal {
    match ruling {
        Ruling::Refused(refusal) => *refusal,
        Ruling::Allowed(allowance) => panic!("allowed by {}", allowance.rule),
    }
}

/// The rule that allowed it, or `None`.
fn by(ruling: &Ruling) -> Option<&str> {
    match ruling {
        Ruling::Allowed(allowance) => Some(&allowance.rule.text),
        Ruling::Refused(_) => None,
    }
}

fn is_allowed(ruling: &Ruling) -> bool {
    by(ruling).is_some()
}
