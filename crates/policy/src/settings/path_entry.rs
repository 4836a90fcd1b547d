//! An entry of a path list.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A pattern, or a name in which no character is special.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathEntry {
    /// `~/x`, `src/**/*.key`, `$HOME/y`.
    Pattern(String),
    /// `{"path": "odd[name]", "literal": true}`.
    Literal(String),
}

impl PathEntry {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Pattern(text) | Self::Literal(text) => text,
        }
    }
}

impl JsonSchema for PathEntry {
    fn schema_name() -> Cow<'static, str> {
        "PathEntry".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A path or glob, or a path in which *, ?, [, { and $ stand for themselves.",
            "anyOf": [
                { "type": "string", "minLength": 1 },
                {
                    "type": "object",
                    "properties": {
                        "path": { "type": "string", "minLength": 1 },
                        "literal": { "type": "boolean" }
                    },
                    "required": ["path"],
                    "additionalProperties": false
                }
            ]
        })
    }
}

impl<'de> Deserialize<'de> for PathEntry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = PathEntry;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a path, or an object such as {\"path\": \"...\", \"literal\": true}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<PathEntry, E> {
        Ok(PathEntry::Pattern(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<PathEntry, E> {
        Ok(PathEntry::Pattern(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PathEntry, A::Error> {
        let (mut path, mut literal) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "path" => path = Some(map.next_value::<String>()?),
                "literal" => literal = Some(map.next_value::<bool>()?),
                _ => return Err(de::Error::unknown_field(&key, &["path", "literal"])),
            }
        }
        let path = path.ok_or_else(|| de::Error::missing_field("path"))?;
        Ok(if literal == Some(true) { PathEntry::Literal(path) } else { PathEntry::Pattern(path) })
    }
}
