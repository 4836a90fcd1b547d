//! The network part of both shapes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What may be reached. Nothing, unless domains are allowed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct NetworkSettings {
    /// `host`, `*.host` (strict subdomains), an address, `[v6]`, each with an optional `:port`.
    pub(crate) allowed_domains: Option<Vec<String>>,
    /// The same grammar; `*` is understood here. Beats every allowed domain.
    pub(crate) denied_domains: Option<Vec<String>>,
    /// What to tell whoever asks for a denied domain.
    pub(crate) denied_domain_reasons: BTreeMap<String, String>,
    /// Every public host, by name, without a list.
    pub(crate) allow_public_hosts: Option<bool>,
    /// Ports that may be reached where a domain names none.
    pub(crate) ports: Option<Vec<u16>>,
    /// Protocols that may be spoken.
    pub(crate) protocols: Option<Vec<Protocol>>,
    /// Requests in one minute.
    pub(crate) max_requests_per_minute: Option<u32>,
    /// Bytes of one request body.
    pub(crate) max_request_bytes: Option<u64>,
    /// Bytes of one answer.
    pub(crate) max_response_bytes: Option<u64>,
    /// Refuse what is on no list instead of asking.
    pub(crate) strict_allowlist: Option<bool>,
    /// Addresses and networks an allowed name must not resolve to.
    pub(crate) denied_resolved_addresses: Vec<String>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ParentProxy {
    /// For HTTP.
    pub http: Option<String>,
    /// For HTTPS.
    pub https: Option<String>,
    /// What goes directly.
    pub no_proxy: Option<String>,
}

/// Looking into TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TlsTerminate {
    /// The certificate authority's certificate; one is made when absent.
    pub ca_cert_path: Option<String>,
    /// Its key.
    pub ca_key_path: Option<String>,
    /// Domains whose TLS is passed through.
    pub exclude_domains: Vec<String>,
    /// Further certificates to trust.
    pub extra_ca_cert_paths: Vec<String>,
    /// Tunnels open at once.
    pub max_tunnels: Option<u32>,
    /// Milliseconds a handshake may take.
    pub handshake_timeout_ms: Option<u64>,
}
