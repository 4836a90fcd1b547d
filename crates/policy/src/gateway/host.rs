//! Host names as programs inside send them. Every byte is hostile.

use crate::domain::{self, HostPattern};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// A host in the one form names are compared in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Host {
    /// Lower case, ASCII, without a final dot.
    Name(String),
    /// A literal address; IPv4 in IPv6 clothes is IPv4.
    Address(IpAddr),
}

/// Where somebody wants to connect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// Not a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Nothing at all.
    #[error("a host cannot be empty")]
    Empty,
    /// Longer than any name.
    #[error("a host of {0} bytes is longer than any name")]
    TooLong(usize),
    /// Bytes no name has.
    #[error("not a host name: {0:?}")]
    Name(String),
    /// `127.1`, `0x7f000001`, `017700000001`.
    #[error("an address in an unusual spelling: {0:?}")]
    Disguised(String),
    /// Not a port.
    #[error("not a port: {0:?}")]
    Port(String),
}

/// What a name of the greatest length needs, final dot and brackets included.
const LONGEST: usize = 260;

impl Host {
    /// Reads a name or address: `example.org`, `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]`.
    ///
    /// Only ASCII: programs turn other scripts into it before they send a name, and letters that merely
    /// look like dots must not become some.
    pub fn parse(bytes: &[u8]) -> Result<Self, HostError> {
        let shown = || String::from_utf8_lossy(bytes).into_owned();
        if bytes.is_empty() {
            return Err(HostError::Empty);
        }
        if bytes.len() > LONGEST {
            return Err(HostError::TooLong(bytes.len()));
        }
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii());
        let text = text.ok_or_else(|| HostError::Name(shown()))?;
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or_else(|| HostError::Name(shown()))?;
            let address = inner.parse().map_err(|_| HostError::Name(shown()))?;
            return Ok(Self::from(IpAddr::V6(address)));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::from(address));
        }
        if is_disguised(text) {
            return Err(HostError::Disguised(shown()));
        }
        domain::ascii_name(text).map(Self::Name).ok_or_else(|| HostError::Name(shown()))
    }

    /// Whether this is loopback, by name or address.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost" || domain::is_below(name, "localhost"),
            Self::Address(address) => address.to_canonical().is_loopback(),
        }
    }

    /// Whether a rule about hosts is about this one.
    pub fn fits(&self, pattern: &HostPattern) -> bool {
        match (pattern, self) {
            (HostPattern::Any, _) => true,
            (HostPattern::Name(rule), Self::Name(name)) => rule == name,
            (HostPattern::Below(above), Self::Name(name)) => domain::is_below(name, above),
            (HostPattern::Address(rule), Self::Address(address)) => Self::from(*rule) == Self::from(*address),
            _ => false,
        }
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        Self::Address(address.to_canonical())
    }
}

impl Target {
    /// Reads `host:port`; `default` where no port is given.
    pub fn parse(bytes: &[u8], default: Option<u16>) -> Result<Self, HostError> {
        let colon = bytes.iter().rposition(|byte| *byte == b':');
        let bracket = bytes.iter().rposition(|byte| *byte == b']');
        let (host, port) = match colon {
            Some(at) if bracket.is_none_or(|bracket| at > bracket) => (&bytes[..at], Some(&bytes[at + 1..])),
            _ => (bytes, None),
        };
        // Without brackets the last colon of an IPv6 address would be taken for a port.
        if host.contains(&b':') && !host.starts_with(b"[") {
            return Err(HostError::Name(String::from_utf8_lossy(bytes).into_owned()));
        }
        let wrong = || HostError::Port(String::from_utf8_lossy(bytes).into_owned());
        let port = match port {
            Some(digits) => {
                let text = std::str::from_utf8(digits).map_err(|_| wrong())?;
                domain::port_number(text).ok_or_else(wrong)?
            }
            None => default.ok_or_else(wrong)?,
        };
        Ok(Self { host: Host::parse(host)?, port })
    }
}

/// Whether the C library would take this for an address although it is not written like one.
fn is_disguised(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let parts: Vec<&str> = text.split('.').collect();
    let number = |part: &&str| {
        let digits = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"));
        match digits {
            Some(hex) => hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
            None => !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()),
        }
    };
    text.parse::<Ipv4Addr>().is_ok() || (parts.len() <= 4 && parts.iter().all(number))
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => out.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(out, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(out, "[{address}]"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.host, self.port)
    }
}
