//! Entries of network lists that have a short and a long form.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// `"example.org"`, or the same with limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DomainEntry(pub(crate) LimitedDomain);

/// A domain with what connections to it may use up, all of them together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LimitedDomain {
    /// `host`, `*.host`, an address or `[v6]`, with an optional `:port`.
    pub(crate) domain: String,
    /// New connections in one second.
    pub(crate) connections_per_second: Option<u32>,
    /// Requests in one minute; a connection whose requests cannot be seen counts as one.
    pub(crate) requests_per_minute: Option<u32>,
    /// Bytes in one second, both directions together.
    pub(crate) bytes_per_second: Option<u64>,
    /// Bytes altogether, both directions together.
    pub(crate) total_bytes: Option<u64>,
}

impl DomainEntry {
    pub(crate) fn plain(domain: impl Into<String>) -> Self {
        Self(LimitedDomain { domain: domain.into(), ..LimitedDomain::default() })
    }
}

impl JsonSchema for DomainEntry {
    fn schema_name() -> Cow<'static, str> {
        "DomainEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let limited = generator.subschema_for::<LimitedDomain>();
        json_schema!({
            "description": "A domain, alone or with limits.",
            "anyOf": [{ "type": "string", "minLength": 1 }, limited]
        })
    }
}

impl<'de> Deserialize<'de> for DomainEntry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(DomainVisitor)
    }
}

struct DomainVisitor;

impl<'de> Visitor<'de> for DomainVisitor {
    type Value = DomainEntry;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a domain, or an object such as {\"domain\": \"...\", \"bytesPerSecond\": 1000000}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<DomainEntry, E> {
        Ok(DomainEntry::plain(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DomainEntry, A::Error> {
        LimitedDomain::deserialize(MapAccessDeserializer::new(map)).map(DomainEntry)
    }
}

/// `8080`, `"8080"` or `"8080:80"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortEntry(pub(crate) String);

impl PortEntry {
    /// The two ports; one number stands for both. 0 is understood in the first only where `free` is.
    pub(crate) fn pair(&self, free: FreePort) -> Option<(u16, u16)> {
        let (first, second) = self.0.split_once(':').unwrap_or((&self.0, &self.0));
        let first = match (first, free) {
            ("0", FreePort::Understood) if self.0.contains(':') => 0,
            _ => crate::domain::port_number(first)?,
        };
        Some((first, crate::domain::port_number(second)?))
    }
}

/// Whether 0 stands for any port that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FreePort {
    Understood,
    Refused,
}

impl JsonSchema for PortEntry {
    fn schema_name() -> Cow<'static, str> {
        "PortEntry".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A port, or two of them with a colon between.",
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": 65535 },
                { "type": "string", "pattern": "^[0-9]{1,5}(:[0-9]{1,5})?$" }
            ]
        })
    }
}

impl<'de> Deserialize<'de> for PortEntry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(PortVisitor)
    }
}

struct PortVisitor;

impl Visitor<'_> for PortVisitor {
    type Value = PortEntry;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a port such as 8080, or two such as \"8080:80\"")
    }

    fn visit_u64<E: de::Error>(self, port: u64) -> Result<PortEntry, E> {
        Ok(PortEntry(port.to_string()))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<PortEntry, E> {
        Ok(PortEntry(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_alone_and_in_pairs() {
        for (text, free, expected) in [
            ("8080", FreePort::Refused, Some((8080, 8080))),
            ("8080:80", FreePort::Refused, Some((8080, 80))),
            ("0:80", FreePort::Understood, Some((0, 80))),
            ("0:80", FreePort::Refused, None),
            ("0", FreePort::Understood, None),
            ("80:0", FreePort::Understood, None),
            ("", FreePort::Understood, None),
            (":80", FreePort::Understood, None),
            ("80:", FreePort::Understood, None),
            ("1:2:3", FreePort::Understood, None),
            ("+80", FreePort::Understood, None),
            ("65536", FreePort::Understood, None),
        ] {
            assert_eq!(PortEntry(text.into()).pair(free), expected, "{text}");
        }
    }
}
