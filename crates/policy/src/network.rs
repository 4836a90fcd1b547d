//! What may be reached, as the gateway will need it.

use crate::domain::DomainPattern;
use crate::settings::{MitmProxy, ParentProxy, Protocol, TlsTerminate};
use crate::{
    AwsPairPlan, CredentialPlan, ForwardPort, NetLimits, Publish, RequestRule, RuleRef, Switch, Unsignable,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The network rules of a policy.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRules {
    /// Hosts that may be reached.
    pub allowed: Vec<DomainRule>,
    /// Hosts that may not; beats `allowed`.
    pub denied: Vec<DomainRule>,
    /// Every public host without being listed.
    pub public_hosts: Switch,
    /// Ports where a domain names none; every one when empty.
    pub ports: Vec<u16>,
    /// Protocols where a rule names no port; every one when empty.
    pub protocols: Vec<Protocol>,
    /// What the whole sandbox may use.
    pub limits: NetLimits,
    /// Networks an allowed name must not resolve to.
    pub denied_addresses: Vec<ipnet::IpNet>,
    /// Whether an allowed name may lead to private, carrier-grade or unique-local addresses.
    pub private_addresses: Switch,
    /// Rules about single requests; the first that fits decides.
    pub requests: Vec<RequestRule>,
    /// Ports of the sandbox that the host can reach.
    pub publish: Vec<Publish>,
    /// Ports of the host's loopback that the sandbox can reach.
    pub forward: Vec<ForwardPort>,
    /// Whether proxies listen inside.
    pub proxies: Switch,
    /// Whether the lists may change while a command runs.
    pub live: Switch,
    /// Unix sockets of the host, by path.
    pub unix_sockets: Vec<SocketRule>,
    /// Every unix socket.
    pub all_unix_sockets: Switch,
    /// Whether what is on no list may be asked for.
    pub asking: Switch,
    /// Secrets the sandbox sees stand-ins of.
    pub credentials: Vec<CredentialPlan>,
    /// Whether stand-ins are replaced in requests outside TLS.
    pub plaintext_credentials: Switch,
    /// Keys that requests are signed with.
    pub aws_pairs: Vec<AwsPairPlan>,
    /// Which requests pass whose signature cannot be made anew.
    pub unsignable: Unsignable,
    /// Listening inside.
    pub local_binding: Switch,
    /// How the gateway does its work.
    pub gateway: GatewayOptions,
}

/// One domain rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainRule {
    /// Which hosts.
    pub pattern: DomainPattern,
    /// What to tell whoever is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What this rule's connections may use together.
    #[serde(default)]
    pub limits: NetLimits,
    /// Where the rule was written.
    pub rule: RuleRef,
}

/// One unix socket, or a directory of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SocketRule {
    /// Absolute, as written: links are still in it.
    pub path: PathBuf,
    /// Where the rule was written.
    pub rule: RuleRef,
}

/// How the gateway does its work.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayOptions {
    /// An HTTP proxy on this port of localhost replaces ours.
    pub http_proxy_port: Option<u16>,
    /// A SOCKS proxy on this port of localhost replaces ours.
    pub socks_proxy_port: Option<u16>,
    /// A proxy behind a unix socket for some domains.
    pub mitm_proxy: Option<MitmProxy>,
    /// The proxy that leads out.
    pub parent_proxy: Option<ParentProxy>,
    /// Looking into TLS.
    pub tls_terminate: Option<TlsTerminate>,
    /// Headers removed from answers.
    pub strip_response_headers: Vec<String>,
    /// Refuse tunnels whose content cannot be judged.
    pub refuse_opaque_tunnels: Option<bool>,
    /// Refuse requests whose Host differs from their target.
    pub require_host_match: Option<bool>,
    /// What to do with requests that can be read in two ways.
    pub ambiguous_request_target: Option<String>,
}

impl Default for NetworkRules {
    fn default() -> Self {
        Self {
            allowed: Vec::new(),
            denied: Vec::new(),
            public_hosts: Switch::Refused,
            ports: Vec::new(),
            protocols: Vec::new(),
            limits: NetLimits::default(),
            denied_addresses: Vec::new(),
            private_addresses: Switch::Allowed,
            requests: Vec::new(),
            publish: Vec::new(),
            forward: Vec::new(),
            proxies: Switch::Refused,
            live: Switch::Refused,
            unix_sockets: Vec::new(),
            all_unix_sockets: Switch::Refused,
            asking: Switch::Allowed,
            credentials: Vec::new(),
            plaintext_credentials: Switch::Refused,
            aws_pairs: Vec::new(),
            unsignable: Unsignable::default(),
            local_binding: Switch::Refused,
            gateway: GatewayOptions::default(),
        }
    }
}

impl NetworkRules {
    /// Whether anything outside may be reached.
    pub fn reaches_out(&self) -> bool {
        !self.allowed.is_empty() || self.public_hosts == Switch::Allowed
    }
}
