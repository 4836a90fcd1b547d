//! What is told about connections through the gateway.

use crate::RuleRef;
use serde::{Deserialize, Serialize};

/// One connection or request, once it is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// The sandbox's id.
    pub sandbox: String,
    /// How it came to the gateway.
    pub via: Via,
    /// `host:port`.
    pub target: String,
    /// The address that was dialled, with its port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The method, where the request could be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path without its query, where the request could be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The status of the answer, where it could be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether it was let through.
    pub verdict: ConnectionVerdict,
    /// The rule that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// Why it was refused, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Bytes from inside to outside.
    pub sent: u64,
    /// Bytes from outside to inside.
    pub received: u64,
    /// Milliseconds from the first byte to the last.
    pub duration_ms: u64,
    /// The process that asked, as the sandbox numbers it, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The program that process was running, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// How a connection came to the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Via {
    /// An ordinary connect, led here by the kernel.
    Transparent,
    /// The HTTP proxy.
    HttpProxy,
    /// The HTTP proxy's CONNECT.
    Connect,
    /// The SOCKS proxy.
    Socks,
    /// A port of the host's loopback.
    Forward,
    /// A port of the sandbox, from outside.
    Publish,
}

/// Whether a connection was let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ConnectionVerdict {
    /// Let through.
    Allowed,
    /// Refused.
    Refused,
    /// Let through, and the other side could not be reached.
    Failed,
}

/// What went through the gateway of one sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkStatistics {
    /// Connections that were let through.
    pub connections: u64,
    /// Requests that were seen and let through.
    pub requests: u64,
    /// Connections, names and requests that were refused.
    pub refused: u64,
    /// Bytes from inside to outside.
    pub sent: u64,
    /// Bytes from outside to inside.
    pub received: u64,
    /// The hosts with the most bytes, busiest first; a bounded number of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostStatistics>,
}

/// The same for one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostStatistics {
    /// The name or address.
    pub host: String,
    /// Connections that were let through.
    pub connections: u64,
    /// Requests that were seen and let through.
    pub requests: u64,
    /// Connections, names and requests that were refused.
    pub refused: u64,
    /// Bytes from inside to outside.
    pub sent: u64,
    /// Bytes from outside to inside.
    pub received: u64,
}
