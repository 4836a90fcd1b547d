//! The network part of both shapes.

use super::domain_entry::{DomainEntry, PortEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// What may be reached. Nothing, unless domains are allowed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct NetworkSettings {
    /// `host`, `*.host` (strict subdomains), an address, `[v6]`, each with an optional `:port`; or an object
    /// with such a `domain` and limits for it.
    pub(crate) allowed_domains: Option<Vec<DomainEntry>>,
    /// The same grammar; `*` is understood here. Beats every allowed domain.
    pub(crate) denied_domains: Option<Vec<String>>,
    /// What to tell whoever asks for a denied domain.
    pub(crate) denied_domain_reasons: BTreeMap<String, String>,
    /// Every public host, by name, without a list. Literal addresses have to be listed all the same: a denied
    /// host could be reached by its address otherwise.
    pub(crate) allow_public_hosts: Option<bool>,
    /// Ports that may be reached where a domain names none.
    pub(crate) ports: Option<Vec<u16>>,
    /// Protocols that may be spoken where a domain names no port.
    pub(crate) protocols: Option<Vec<Protocol>>,
    /// Requests in one minute.
    pub(crate) max_requests_per_minute: Option<u32>,
    /// New connections in one second.
    pub(crate) connections_per_second: Option<u32>,
    /// Bytes in one second, both directions together.
    pub(crate) bytes_per_second: Option<u64>,
    /// Bytes altogether, both directions together.
    pub(crate) total_bytes: Option<u64>,
    /// Bytes of one request body.
    pub(crate) max_request_bytes: Option<u64>,
    /// Bytes of one answer.
    pub(crate) max_response_bytes: Option<u64>,
    /// Refuse what is on no list instead of asking.
    pub(crate) strict_allowlist: Option<bool>,
    /// Addresses and networks an allowed name must not resolve to.
    pub(crate) denied_resolved_addresses: Vec<String>,
    /// Whether an allowed name may lead to private, carrier-grade and unique-local addresses; true when not
    /// said, false in the presets strict, production and webscraping.
    pub(crate) allow_private_addresses: Option<bool>,
    /// Rules about single requests; the first that fits decides. A host that has rules gets no request that
    /// none of them allows, and its TLS is looked into.
    #[serde(deserialize_with = "super::object::many")]
    pub(crate) requests: Vec<RequestSettings>,
    /// Ports inside that this machine can reach on its loopback: `8080`, or `8080:80` with the port of this
    /// machine first (0 for any that is free).
    pub(crate) publish: Vec<PortEntry>,
    /// Ports of this machine's loopback that can be reached inside: `5432`, or `15432:5432` with the port
    /// inside first.
    pub(crate) forward_ports: Vec<PortEntry>,
    /// An HTTP proxy on port 3128 and a SOCKS5 proxy on port 1080 inside, with the variables that lead programs
    /// there. Connections need neither.
    pub(crate) proxies: Option<bool>,
    /// Unix sockets of the host that may be reached, by path.
    pub(crate) allow_unix_sockets: Vec<String>,
    /// Every unix socket that can be seen.
    pub(crate) allow_all_unix_sockets: Option<bool>,
    /// Listening inside; always possible on the sandbox's own loopback.
    pub(crate) allow_local_binding: Option<bool>,
    /// An HTTP proxy on this port of localhost replaces the built-in one.
    pub(crate) http_proxy_port: Option<u16>,
    /// A SOCKS proxy on this port of localhost replaces the built-in one.
    pub(crate) socks_proxy_port: Option<u16>,
    /// A proxy behind a unix socket for some domains.
    #[serde(deserialize_with = "super::object::maybe")]
    pub(crate) mitm_proxy: Option<MitmProxy>,
    /// The proxy that leads out of this network.
    #[serde(deserialize_with = "super::object::maybe")]
    pub(crate) parent_proxy: Option<ParentProxy>,
    /// Looking into TLS.
    #[serde(deserialize_with = "super::object::maybe")]
    pub(crate) tls_terminate: Option<TlsTerminate>,
    /// Headers removed from answers.
    pub(crate) strip_response_headers: Option<Vec<String>>,
    /// Refuse tunnels whose content cannot be judged.
    pub(crate) refuse_opaque_tunnels: Option<bool>,
    /// Refuse requests whose Host differs from their target.
    pub(crate) require_host_match: Option<bool>,
    /// What to do with requests that can be read in two ways.
    pub(crate) ambiguous_request_target: Option<String>,
}

/// A rule about single requests.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RequestSettings {
    /// The hosts, as in `deniedDomains`.
    pub(crate) host: String,
    /// The methods; every one when left out.
    #[serde(default)]
    pub(crate) methods: Vec<String>,
    /// The paths, without a query: `/v1/**` for everything below, `*` for anything within one segment. Every
    /// one when left out.
    #[serde(default)]
    pub(crate) paths: Vec<String>,
    /// Let through or refused.
    pub(crate) allow: bool,
}

/// A protocol the gateway can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Protocol {
    /// HTTP in the clear.
    Http,
    /// HTTP within TLS.
    Https,
    /// SSH.
    Ssh,
    /// Git's own protocol.
    Git,
    /// Anything over TCP.
    Tcp,
}

/// A proxy behind a unix socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MitmProxy {
    /// The socket.
    pub socket_path: String,
    /// The domains that go through it.
    pub domains: Vec<String>,
}

/// The proxy that leads out of this network.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ParentProxy {
    /// For HTTP.
    #[serde(serialize_with = "without_password")]
    pub http: Option<String>,
    /// For HTTPS.
    #[serde(serialize_with = "without_password")]
    pub https: Option<String>,
    /// What goes directly.
    pub no_proxy: Option<String>,
}

impl fmt::Debug for ParentProxy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ParentProxy")
            .field("http", &self.http.as_deref().map(hidden))
            .field("https", &self.https.as_deref().map(hidden))
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

/// Plans are printed, and a proxy's address may hold a password.
fn without_password<S: Serializer>(url: &Option<String>, out: S) -> Result<S::Ok, S::Error> {
    url.as_deref().map(hidden).serialize(out)
}

/// A URL without what stands before its host.
fn hidden(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    match rest.rsplit_once('@') {
        Some((_, host)) if scheme.is_empty() => format!("...@{host}"),
        Some((_, host)) => format!("{scheme}://...@{host}"),
        None => url.to_owned(),
    }
}

/// Looking into TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TlsTerminate {
    /// The certificate authority's certificate; one is made when absent.
    pub ca_cert_path: Option<String>,
    /// Its key.
    pub ca_key_path: Option<String>,
    /// Domains whose TLS is looked into; every one when empty. Hosts with rules about requests and hosts that
    /// secrets are sent to belong to them without being listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Domains whose TLS is passed through.
    pub exclude_domains: Vec<String>,
    /// Further certificates to trust.
    pub extra_ca_cert_paths: Vec<String>,
    /// Tunnels open at once.
    pub max_tunnels: Option<u32>,
    /// Milliseconds a handshake may take.
    pub handshake_timeout_ms: Option<u64>,
}
