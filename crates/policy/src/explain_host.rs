//! Why a host may or may not be reached.

use crate::gateway::{Cause, Host, HostError, NetJudge, NetRefusal, Ruling, Target};
use crate::policy::Policy;
use crate::{Answer, Layer, Switch, presets};
use serde::Serialize;
use std::sync::Arc;

/// What the rules say about one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostExplanation {
    /// As asked.
    pub asked: String,
    /// The host in the form names are compared in.
    pub host: String,
    /// The port, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Whether it may be reached: on the port, or on some port.
    pub connect: Answer,
    /// Whether its TLS is looked into.
    pub terminated: bool,
    /// Rules about single requests to it, in the order they are tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<crate::RuleRef>,
}

impl Policy {
    /// Says what the rules say about `host`, `host:port`, `192.0.2.7` or `[2001:db8::1]:443`.
    pub fn explain_host(&self, text: &str) -> Result<HostExplanation, HostError> {
        let bare = Host::parse(text.as_bytes());
        let (host, port) = match bare {
            Ok(host) => (host, None),
            Err(error) => match Target::parse(text.as_bytes(), None) {
                Ok(target) => (target.host, Some(target.port)),
                Err(HostError::Port(_)) if text.contains(':') => {
                    return Err(HostError::Port(text.to_owned()));
                }
                Err(_) => return Err(error),
            },
        };
        let judge = NetJudge::new(Arc::new(self.network_plan()));
        let ruling = match port {
            Some(port) => judge.connect(&Target { host: host.clone(), port }, None),
            None => judge.name(&host),
        };
        let about = |pattern: &crate::DomainPattern| {
            host.fits(&pattern.host) && (port.is_none() || pattern.port.is_none() || pattern.port == port)
        };
        let plan = judge.plan();
        let terminated = plan.tls.as_ref().is_some_and(|tls| {
            !tls.exclude.iter().any(about) && (tls.hosts.is_empty() || tls.hosts.iter().any(about))
        });
        Ok(HostExplanation {
            asked: text.to_owned(),
            connect: self.answer(ruling, port),
            terminated,
            requests: plan
                .requests
                .iter()
                .filter(|rule| about(&rule.pattern))
                .map(|rule| rule.rule.clone())
                .collect(),
            host: host.to_string(),
            port,
        })
    }

    fn answer(&self, ruling: Ruling, port: Option<u16>) -> Answer {
        if self.preset == presets::UNRESTRICTED {
            let reason = "the preset unrestricted leaves the host's network as it is".to_owned();
            return Answer { allowed: true, rule: None, reason, change: None };
        }
        match ruling {
            Ruling::Allowed(allowance) => Answer {
                allowed: true,
                rule: Some(allowance.rule),
                reason: match port {
                    Some(_) => "a rule allows it and none denies it".to_owned(),
                    None if self.network.ports.is_empty() => "a rule allows it".to_owned(),
                    None => "a rule allows it, on some ports".to_owned(),
                },
                change: None,
            },
            Ruling::Refused(refusal) => self.refused(*refusal),
        }
    }

    fn refused(&self, refusal: NetRefusal) -> Answer {
        let managed = refusal.rule.as_ref().is_some_and(|rule| rule.origin.layer == Layer::Managed);
        let change = match (&refusal.rule, refusal.cause) {
            (_, Cause::Denied) if managed => {
                "cannot be opened here: the organisation's settings say so".to_owned()
            }
            (Some(rule), Cause::Denied) => format!("remove {} from {}", rule.text, rule.origin),
            _ => refusal.suggestion.unwrap_or_else(|| "cannot be opened".to_owned()),
        };
        let reason = match (refusal.told, refusal.askable) {
            (Some(told), _) => format!("{}: {told}", refusal.reason),
            (None, Switch::Allowed) => format!("{}; somebody is asked when a command tries", refusal.reason),
            (None, Switch::Refused) => refusal.reason,
        };
        Answer { allowed: false, rule: refusal.rule, reason, change: Some(change) }
    }
}
