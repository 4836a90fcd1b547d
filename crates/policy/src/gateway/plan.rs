//! The network part of a plan, as plain data.

use crate::domain::DomainPattern;
use crate::network::DomainRule;
use crate::settings::{MitmProxy, ParentProxy, Protocol};
use crate::{RuleRef, Switch};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the gateway of one sandbox lets through, and how it works.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayPlan {
    /// Hosts that may be reached.
    pub allowed: Vec<DomainRule>,
    /// Hosts that may not; beats `allowed`.
    pub denied: Vec<DomainRule>,
    /// Every public host without being listed, by its name.
    pub public_hosts: Switch,
    /// Ports where a rule names none; every one when empty.
    pub ports: Vec<u16>,
    /// Protocols where a rule names no port; every one when empty.
    pub protocols: Vec<Protocol>,
    /// Networks an allowed name must not resolve to, besides those nobody may.
    pub denied_addresses: Vec<ipnet::IpNet>,
    /// Whether an allowed name may resolve to private, carrier-grade or unique-local addresses.
    pub private_addresses: Switch,
    /// Whether `localhost` and loopback addresses stand for this machine at the proxies, as srt has it. Refused,
    /// they are the sandbox's own there, too, and lead nowhere.
    pub host_loopback: Switch,
    /// Whether what is on no list may be asked for.
    pub asking: Switch,
    /// Rules about single requests, in order; the first that fits decides.
    pub requests: Vec<RequestRule>,
    /// What the whole sandbox may use.
    pub limits: NetLimits,
    /// Proxies that listen inside, for programs that insist on one.
    pub proxies: Option<ProxyPorts>,
    /// Where connections are led instead of to their target.
    pub upstreams: Upstreams,
    /// Looking into TLS.
    pub tls: Option<TlsPlan>,
    /// Headers removed from answers.
    pub strip_response_headers: Vec<String>,
    /// Refuse tunnels whose content cannot be judged.
    pub refuse_opaque_tunnels: Switch,
    /// Whether the Host of a request may differ from the host that was connected to.
    pub host_mismatch: Switch,
    /// Whether requests whose target can be read in two ways are let through.
    pub ambiguous_targets: Switch,
    /// Ports of the sandbox that the host can reach.
    pub publish: Vec<Publish>,
    /// Ports of the host's loopback that the sandbox can reach.
    pub forward: Vec<ForwardPort>,
    /// Secrets the sandbox sees stand-ins of. Their values are never part of a plan.
    pub credentials: Vec<CredentialPlan>,
    /// Whether stand-ins are replaced in requests outside TLS.
    pub plaintext_credentials: Switch,
    /// Keys that requests are signed with; the signature is made anew where they are stand-ins.
    pub aws_pairs: Vec<AwsPairPlan>,
    /// Which requests pass whose signature cannot be made anew.
    #[serde(default, skip_serializing_if = "Unsignable::is_usual")]
    pub unsignable: Unsignable,
    /// How whoever was refused is told to allow it.
    #[serde(skip_serializing_if = "Advice::is_usual")]
    pub advice: Advice,
}

/// How whoever was refused is told to allow it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Advice {
    /// By an option of the command line.
    #[default]
    Options,
    /// By a key of the settings: srt has no such option.
    Settings,
}

impl Advice {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// What would allow this host.
    pub(super) fn to_allow(self, host: &str) -> String {
        match self {
            Self::Options => format!("--allow-domain {host}"),
            Self::Settings => format!("\"network\": {{\"allowedDomains\": [..., {}]}}", quoted(host)),
        }
    }
}

/// As it is written in settings.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What connections may use up. Without a number there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NetLimits {
    /// New connections in one second.
    pub connections_per_second: Option<u32>,
    /// Requests in one minute. A connection whose requests cannot be seen counts as one.
    pub requests_per_minute: Option<u32>,
    /// Bytes in one second, both directions together.
    pub bytes_per_second: Option<u64>,
    /// Bytes altogether, both directions together.
    pub total_bytes: Option<u64>,
    /// Bytes of one request body.
    pub max_request_bytes: Option<u64>,
    /// Bytes of one answer.
    pub max_response_bytes: Option<u64>,
}

/// A rule about single requests to a host whose requests can be seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRule {
    /// Which hosts.
    pub pattern: DomainPattern,
    /// Which methods, upper case; every one when empty.
    pub methods: Vec<String>,
    /// Which paths, as globs (`/repos/*/issues`, `/v1/**`); every one when empty.
    pub paths: Vec<String>,
    /// Let through or refused.
    pub verdict: Switch,
    /// Where the rule was written.
    pub rule: RuleRef,
}

/// Ports of the proxies inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProxyPorts {
    /// HTTP.
    pub http: u16,
    /// SOCKS5.
    pub socks: u16,
}

impl ProxyPorts {
    /// Where they are; srt's users know these ports.
    pub(crate) const INSIDE: Self = Self { http: 3128, socks: 1080 };
}

/// Where connections are led instead of to their target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Upstreams {
    /// An HTTP proxy on this port of the host's loopback takes the place of ours.
    pub http_proxy_port: Option<u16>,
    /// A SOCKS proxy on this port of the host's loopback takes the place of ours.
    pub socks_proxy_port: Option<u16>,
    /// A proxy behind a unix socket for some domains.
    pub mitm_proxy: Option<MitmProxy>,
    /// The proxy that leads out of this network.
    pub parent_proxy: Option<ParentProxy>,
}

/// Looking into TLS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TlsPlan {
    /// The certificate authority to sign with; one that lives in memory only when absent.
    pub authority: Option<(PathBuf, PathBuf)>,
    /// Hosts whose TLS is looked into; every one when empty.
    pub hosts: Vec<DomainPattern>,
    /// Hosts whose TLS is passed through.
    pub exclude: Vec<DomainPattern>,
    /// Further certificates that servers may be signed by.
    pub extra_roots: Vec<PathBuf>,
    /// Connections looked into at once.
    pub max_tunnels: Option<u32>,
    /// Milliseconds a handshake may take.
    pub handshake_timeout_ms: Option<u64>,
    /// Where the certificates to trust lie inside the sandbox.
    pub bundle: PathBuf,
}

/// A port of the sandbox that the host can reach on its loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Publish {
    /// The port on the host's loopback; 0 for any that is free.
    pub host: u16,
    /// The port inside.
    pub inside: u16,
}

/// A port of the host's loopback that the sandbox can reach on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForwardPort {
    /// The port inside.
    pub inside: u16,
    /// The port on the host's loopback.
    pub host: u16,
}

/// A secret the sandbox sees a stand-in of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialPlan {
    /// Where the secret is.
    pub source: CredentialSource,
    /// Hosts it may be sent to; nobody when empty.
    pub inject_hosts: Vec<DomainPattern>,
    /// The part of the value that is the secret: the first group of this expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extract: Option<String>,
    /// What happens when the expression does not fit: `warn`, `deny` or `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_no_match: Option<String>,
    /// Claims of a JSON web token that are hidden; the value is one when this is there. Without a name in it
    /// the whole token is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwt_claims: Option<Vec<String>>,
    /// Whether the same value is hidden wherever else it stands in the file.
    #[serde(default)]
    pub mask_duplicates: Switch,
    /// Where the rule was written.
    pub rule: RuleRef,
}

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CredentialSource {
    /// A variable of the caller's environment.
    Variable(String),
    /// A file.
    File(PathBuf),
}

/// The variables that hold one pair of keys for signed requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AwsPairPlan {
    /// The variable with the key's name.
    pub access_key_id: String,
    /// The variable with the key.
    pub secret_access_key: String,
    /// The variable with the session's token, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_token: Option<String>,
}

/// Requests that are signed with a stand-in, in ways that cannot be signed anew. Those that pass do so as they
/// are: nothing is put into them, and their hosts will not take the signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unsignable {
    /// Bodies that are signed piece by piece.
    pub streaming: Switch,
    /// Signatures in the address.
    pub presigned: Switch,
    /// Asymmetric signatures (SigV4A).
    pub asymmetric: Switch,
}

impl Unsignable {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::Advice;

    #[test]
    fn advice_is_in_words_that_work() {
        assert_eq!(Advice::Options.to_allow("a.test:443"), "--allow-domain a.test:443");
        let settings = Advice::Settings.to_allow("a.test:443");
        assert_eq!(settings, "\"network\": {\"allowedDomains\": [..., \"a.test:443\"]}");
    }
}
