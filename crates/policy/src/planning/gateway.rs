//! The gateway's part of a plan.

use crate::domain::DomainPattern;
use crate::inputs::{Granted, GrantedList};
use crate::network::DomainRule;
use crate::policy::{Manner, Policy};
use crate::{
    Advice, GatewayPlan, Layer, NetLimits, NetworkPlan, Origin, ProxyPorts, RuleRef, Switch, TlsPlan,
    Upstreams, presets,
};
use std::path::PathBuf;

/// Where the certificates to trust lie inside: on the private /dev, which every sandbox has and nobody else sees.
const BUNDLE: &str = "/dev/stockade/ca.pem";

/// The network of a plan, and the rule that needs the gateway where one does.
pub(super) fn network(policy: &Policy) -> (NetworkPlan, Option<RuleRef>) {
    if policy.preset == presets::UNRESTRICTED {
        return (NetworkPlan::Host, None);
    }
    let rules = &policy.network;
    let wish = |text: &str| {
        let origin = Origin { layer: Layer::Flag, source: text.to_owned(), key: String::new() };
        RuleRef { text: "network".to_owned(), origin }
    };
    let because = if let Some(rule) = rules.allowed.first() {
        rule.rule.clone()
    } else if rules.public_hosts == Switch::Allowed {
        wish("network.allowPublicHosts")
    } else if !rules.publish.is_empty() {
        wish("--publish")
    } else if !rules.forward.is_empty() {
        wish("--forward-port")
    } else if rules.live == Switch::Allowed {
        wish("--control-fd")
    } else if policy.may_ask_about_hosts() {
        wish("--ask")
    } else {
        return (NetworkPlan::Loopback, None);
    };
    (NetworkPlan::Gateway(Box::new(policy.network_plan())), Some(because))
}

impl Policy {
    /// What the gateway judges by, whether or not a plan of this policy has one.
    pub fn network_plan(&self) -> GatewayPlan {
        let rules = &self.network;
        let options = &rules.gateway;
        let switch = |on: bool| if on { Switch::Allowed } else { Switch::Refused };
        GatewayPlan {
            allowed: rules.allowed.clone(),
            denied: rules.denied.clone(),
            public_hosts: rules.public_hosts,
            ports: rules.ports.clone(),
            protocols: rules.protocols.clone(),
            denied_addresses: rules.denied_addresses.clone(),
            private_addresses: rules.private_addresses,
            host_loopback: switch(self.manner == Manner::Srt),
            asking: switch(self.may_ask_about_hosts()),
            requests: rules.requests.clone(),
            limits: rules.limits,
            proxies: (self.manner == Manner::Srt || rules.proxies == Switch::Allowed)
                .then_some(ProxyPorts::INSIDE),
            upstreams: Upstreams {
                http_proxy_port: options.http_proxy_port,
                socks_proxy_port: options.socks_proxy_port,
                mitm_proxy: options.mitm_proxy.clone(),
                parent_proxy: options.parent_proxy.clone(),
            },
            tls: self.tls_plan(),
            strip_response_headers: options.strip_response_headers.clone(),
            refuse_opaque_tunnels: switch(options.refuse_opaque_tunnels == Some(true)),
            host_mismatch: switch(options.require_host_match == Some(false)),
            ambiguous_targets: switch(options.ambiguous_request_target.as_deref() == Some("allow")),
            publish: rules.publish.clone(),
            forward: rules.forward.clone(),
            credentials: rules.credentials.clone(),
            plaintext_credentials: rules.plaintext_credentials,
            aws_pairs: rules.aws_pairs.clone(),
            unsignable: rules.unsignable,
            advice: match self.manner {
                Manner::Native => Advice::Options,
                Manner::Srt => Advice::Settings,
            },
        }
    }

    /// Whether somebody is there to ask, and the settings let them be asked.
    fn may_ask_about_hosts(&self) -> bool {
        self.asking == Switch::Allowed && self.network.asking == Switch::Allowed
    }

    /// Hosts whose requests must be seen are looked into, even where nobody asked for it in general.
    fn tls_plan(&self) -> Option<TlsPlan> {
        let rules = &self.network;
        let ruled = rules.requests.iter().map(|rule| &rule.pattern);
        let secret = rules.credentials.iter().flat_map(|secret| &secret.inject_hosts);
        let mut implied: Vec<DomainPattern> = Vec::new();
        for pattern in ruled.chain(secret) {
            if !implied.contains(pattern) {
                implied.push(pattern.clone());
            }
        }
        let bundle = PathBuf::from(BUNDLE);
        let Some(wish) = &rules.gateway.tls_terminate else {
            // srt's users get what their settings say, and no more.
            let looks = self.manner == Manner::Native && !implied.is_empty();
            return looks.then(|| TlsPlan { hosts: implied, bundle, ..TlsPlan::default() });
        };
        let read = |texts: &[String]| -> Vec<DomainPattern> {
            texts.iter().filter_map(|text| DomainPattern::parse_denied(text).ok()).collect()
        };
        let mut hosts = read(&wish.hosts);
        if !hosts.is_empty() {
            hosts.append(&mut implied);
        }
        let authority = wish.ca_cert_path.as_ref().zip(wish.ca_key_path.as_ref());
        Some(TlsPlan {
            authority: authority.map(|(certificate, key)| (certificate.into(), key.into())),
            hosts,
            exclude: read(&wish.exclude_domains),
            extra_roots: wish.extra_ca_cert_paths.iter().map(PathBuf::from).collect(),
            max_tunnels: wish.max_tunnels,
            handshake_timeout_ms: wish.handshake_timeout_ms,
            bundle,
        })
    }
}

impl GatewayPlan {
    /// The same with hosts somebody said yes to meanwhile. What is no host, or no grant for one, is left out.
    pub fn with_grants(&self, grants: &[Granted]) -> Self {
        let mut plan = self.clone();
        for grant in grants.iter().filter(|grant| grant.list == GrantedList::Domain) {
            let text = grant.path.to_string_lossy();
            let Ok(pattern) = DomainPattern::parse_allowed(&text) else { continue };
            let source = format!("grant {}", grant.id);
            let origin = Origin { layer: Layer::Grant, source, key: String::new() };
            let rule = RuleRef { text: format!("allowedDomains {text}"), origin };
            plan.allowed.push(DomainRule { pattern, reason: None, limits: NetLimits::default(), rule });
        }
        plan
    }
}
