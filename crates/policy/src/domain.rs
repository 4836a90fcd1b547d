//! The grammar of domain rules.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Two-label suffixes under which strangers register names: a wildcard below one would allow them all.
const PUBLIC_PAIRS: &[&str] = &[
    "ac.uk", "co.id", "co.il", "co.in", "co.jp", "co.ke", "co.kr", "co.nz", "co.th", "co.uk", "co.za",
    "com.ar", "com.au", "com.br", "com.cn", "com.co", "com.hk", "com.mx", "com.my", "com.ng", "com.ph",
    "com.pk", "com.pl", "com.sg", "com.tr", "com.tw", "com.ua", "com.vn", "edu.au", "edu.cn", "gov.au",
    "gov.cn", "gov.in", "gov.uk", "ltd.uk", "me.uk", "ne.jp", "net.au", "net.br", "net.cn", "net.in",
    "net.nz", "net.uk", "or.jp", "or.kr", "org.au", "org.br", "org.cn", "org.in", "org.nz", "org.uk",
    "plc.uk",
];

/// A rule about hosts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DomainPattern {
    /// Which hosts.
    pub host: HostPattern,
    /// Which port; every allowed one when absent.
    pub port: Option<u16>,
}

/// Which hosts a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// Exactly this name, lower case, in its ASCII form, without a final dot.
    Name(String),
    /// Strictly below this name.
    Below(String),
    /// This address.
    Address(IpAddr),
    /// Every host (deny rules only).
    Any,
}

/// Why a domain rule was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DomainError {
    /// Nothing at all.
    #[error("a domain cannot be empty")]
    Empty,
    /// `*` in an allow list.
    #[error("{0:?} would allow every host")]
    Everything(String),
    /// `*.com`.
    #[error("{0:?} would allow every name that anybody registers there")]
    TooWide(String),
    /// `https://...`.
    #[error("{0:?} has a scheme or a path; a host is wanted")]
    NotAHost(String),
    /// `10.0.0.0/8`.
    #[error("{0:?} is a network; only single hosts and addresses are understood here")]
    Network(String),
    /// `::1` without brackets.
    #[error("{0:?} is an IPv6 address without brackets")]
    Unbracketed(String),
    /// NUL, control characters, white space.
    #[error("{0:?} holds a control character or white space")]
    Control(String),
    /// Not a name.
    #[error("{0:?} is not a host name")]
    Name(String),
    /// Not a port.
    #[error("{0:?} does not end in a port between 1 and 65535")]
    Port(String),
    /// `0.0.0.0`, `[::]`.
    #[error("{0:?} is no host's address: inside it stands for the sandbox itself")]
    Unspecified(String),
    /// A star in the wrong place.
    #[error("{0:?} has a * that is not a whole first label")]
    Star(String),
}

impl DomainError {
    /// What would mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "write a host such as example.org, or remove the entry",
            Self::Everything(_) => "list the hosts that are needed",
            Self::TooWide(_) => "name at least one more label, such as *.example.org",
            Self::NotAHost(_) => "write the host alone: example.org or example.org:443",
            Self::Network(_) => {
                "list the addresses that are needed one by one, or a name such as *.example.org"
            }
            Self::Unbracketed(_) => "write [::1] or [::1]:443",
            Self::Control(_) => "remove the character",
            Self::Name(_) => "labels of letters, digits and hyphens, separated by dots",
            Self::Port(_) => "write host:443, or leave the port out",
            Self::Unspecified(_) => {
                "remove the entry; a port of this machine is reached with forwardPorts (--forward-port PORT)"
            }
            Self::Star(_) => "write *.example.org for everything below example.org",
        }
    }
}

/// Whether this is a network: an address and how many of its bits count.
fn is_network(text: &str) -> bool {
    text.rsplit_once('/').is_some_and(|(address, bits)| {
        let address = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
        address.parse::<IpAddr>().is_ok() && bits.parse::<u8>().is_ok()
    })
}

impl DomainPattern {
    /// Reads an entry of an allow list.
    pub fn parse_allowed(text: &str) -> Result<Self, DomainError> {
        let pattern = Self::parse(text)?;
        match &pattern.host {
            HostPattern::Any => Err(DomainError::Everything(text.to_owned())),
            HostPattern::Below(name) if !name.contains('.') || PUBLIC_PAIRS.contains(&name.as_str()) => {
                Err(DomainError::TooWide(text.to_owned()))
            }
            _ => Ok(pattern),
        }
    }

    /// Reads an entry of an allow list of our own settings. srt takes the unspecified address for this machine;
    /// here it would lead nowhere.
    pub(crate) fn parse_reachable(text: &str) -> Result<Self, DomainError> {
        let pattern = Self::parse_allowed(text)?;
        match &pattern.host {
            HostPattern::Address(address) if address.to_canonical().is_unspecified() => {
                Err(DomainError::Unspecified(text.to_owned()))
            }
            _ => Ok(pattern),
        }
    }

    /// Reads an entry of a deny list.
    pub fn parse_denied(text: &str) -> Result<Self, DomainError> {
        Self::parse(text)
    }

    fn parse(text: &str) -> Result<Self, DomainError> {
        let own = || text.to_owned();
        if text.is_empty() {
            return Err(DomainError::Empty);
        }
        if text.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
            return Err(DomainError::Control(own()));
        }
        if is_network(text) {
            return Err(DomainError::Network(own()));
        }
        if text.contains('/') || text.contains('@') {
            return Err(DomainError::NotAHost(own()));
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (address, after) = rest.split_once(']').ok_or_else(|| DomainError::Name(own()))?;
            let address: Ipv6Addr = address.parse().map_err(|_| DomainError::Name(own()))?;
            let port = match after.strip_prefix(':') {
                Some(port) => Some(port_number(port).ok_or_else(|| DomainError::Port(own()))?),
                None if after.is_empty() => None,
                None => return Err(DomainError::Port(own())),
            };
            return Ok(Self { host: HostPattern::Address(address.into()), port });
        }
        if text.parse::<Ipv6Addr>().is_ok() || text.matches(':').count() > 1 {
            return Err(DomainError::Unbracketed(own()));
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port_number(port).ok_or_else(|| DomainError::Port(own()))?)),
            None => (text, None),
        };
        let host = match host {
            "*" => HostPattern::Any,
            _ => match host.strip_prefix("*.") {
                Some(below) if below.contains('*') => return Err(DomainError::Star(own())),
                Some(below) => HostPattern::Below(ascii_name(below).ok_or_else(|| DomainError::Name(own()))?),
                None if host.contains('*') => return Err(DomainError::Star(own())),
                None => match host.parse::<IpAddr>() {
                    Ok(address) => HostPattern::Address(address),
                    Err(_) => HostPattern::Name(ascii_name(host).ok_or_else(|| DomainError::Name(own()))?),
                },
            },
        };
        Ok(Self { host, port })
    }

    /// Whether every host of `other` is one of ours.
    pub fn covers(&self, other: &Self) -> bool {
        let port = self.port.is_none() || self.port == other.port;
        let host = match (&self.host, &other.host) {
            (HostPattern::Any, _) => true,
            (HostPattern::Below(above), HostPattern::Name(name)) => is_below(name, above),
            (HostPattern::Below(above), HostPattern::Below(name)) => name == above || is_below(name, above),
            (ours, theirs) => ours == theirs,
        };
        port && host
    }
}

pub(crate) fn is_below(name: &str, above: &str) -> bool {
    name.strip_suffix(above).is_some_and(|labels| labels.len() > 1 && labels.ends_with('.'))
}

pub(crate) fn port_number(text: &str) -> Option<u16> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|port| *port != 0)
}

/// The form names are compared in, if it is a name at all.
pub(crate) fn ascii_name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let name = idna::domain_to_ascii(text).ok()?;
    let labels_fit = name.split('.').all(|label| {
        let inside = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        (1..=63).contains(&label.len()) && inside && !label.starts_with('-') && !label.ends_with('-')
    });
    // A last label of digits is an address in disguise: 127.1, 0x7f.0.0.1.
    let last = name.rsplit('.').next().unwrap_or_default();
    let disguised = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    (labels_fit && !disguised && name.len() <= 253).then_some(name)
}

impl fmt::Display for DomainPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            HostPattern::Name(name) => out.write_str(name)?,
            HostPattern::Below(name) => write!(out, "*.{name}")?,
            HostPattern::Address(IpAddr::V6(address)) => write!(out, "[{address}]")?,
            HostPattern::Address(IpAddr::V4(address)) => write!(out, "{address}")?,
            HostPattern::Any => out.write_str("*")?,
        }
        self.port.map_or(Ok(()), |port| write!(out, ":{port}"))
    }
}

impl Serialize for DomainPattern {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DomainPattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_allowed() {
        for (text, shown) in [
            ("Example.ORG", "example.org"),
            ("example.org.", "example.org"),
            ("*.example.org", "*.example.org"),
            ("example.org:443", "example.org:443"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]:8080", "[::1]:8080"),
            ("[fe80::1]", "[fe80::1]"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("localhost", "localhost"),
            ("*.service_x.example.org", "*.service_x.example.org"),
        ] {
            assert_eq!(
                DomainPattern::parse_allowed(text).map(|pattern| pattern.to_string()).as_deref(),
                Ok(shown)
            );
        }
    }

    #[test]
    fn networks_are_told_from_paths() {
        for text in ["10.0.0.0/8", "fd00::/8", "[fd00::]/8"] {
            let error = DomainPattern::parse_allowed(text).unwrap_err();
            assert_eq!(error, DomainError::Network(text.to_owned()));
        }
        for text in ["10.0.0.1/x", "example.org/8", "https://10.0.0.1/8"] {
            assert!(matches!(DomainPattern::parse_allowed(text), Err(DomainError::NotAHost(_))), "{text}");
        }
    }

    #[test]
    fn what_may_not_be_allowed() {
        for text in [
            "",
            "*",
            "*:443",
            "**",
            "*.com",
            "*.co.uk",
            "*.org:443",
            "https://example.org",
            "example.org/x",
            "::1",
            "fe80::1",
            "a b",
            "a\0.example.org",
            "a\n",
            "ex*mple.org",
            "*.*.example.org",
            "example.org:0",
            "example.org:70000",
            "example.org:https",
            "-a.org",
            "a..org",
            ".org",
            "[::1",
            "[::1]x",
            "[example.org]",
            "127.1",
            "1.2.3.4.5",
            "0x7f.0.0.0x1",
            "user@example.org",
            "example.org:+80",
        ] {
            assert!(DomainPattern::parse_allowed(text).is_err(), "{text:?}");
        }
        assert!(DomainPattern::parse_denied("*").is_ok());
        assert!(DomainPattern::parse_denied("*:22").is_ok());
        assert!(DomainPattern::parse_denied("*.com").is_ok());
    }

    #[test]
    fn wildcards_cover_strict_subdomains_only() {
        let rule = |text| DomainPattern::parse_denied(text).unwrap();
        assert!(rule("*.a.org").covers(&rule("x.a.org")));
        assert!(rule("*.a.org").covers(&rule("*.x.a.org")));
        assert!(!rule("*.a.org").covers(&rule("a.org")));
        assert!(!rule("*.a.org").covers(&rule("xa.org")));
        assert!(!rule("a.org:443").covers(&rule("a.org")));
        assert!(rule("a.org").covers(&rule("a.org:443")));
    }
}
