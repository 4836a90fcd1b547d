//! Claims as they are spelled, every one of them.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The members of an object as they stand there: those with one name are all in it, and numbers have the digits
/// they were written with.
pub(super) struct Members<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut all = Vec::new();
                while let Some(member) = map.next_entry()? {
                    all.push(member);
                }
                Ok(all)
            }
        }
        deserializer.deserialize_map(All).map(Members)
    }
}

/// A claim as one text: a string without its quotes, anything else as it is written.
pub(super) fn text(claim: &RawValue) -> String {
    serde_json::from_str(claim.get()).unwrap_or_else(|_| claim.get().to_owned())
}

/// The strings and numbers inside a claim that is a list or an object.
pub(super) fn inside(claim: &RawValue) -> Vec<String> {
    let mut found = Vec::new();
    // How deep it can be was seen to when the token was read.
    let mut open: Vec<&RawValue> = children(claim);
    while let Some(next) = open.pop() {
        match next.get().bytes().next() {
            Some(b'[' | b'{') => open.extend(children(next)),
            Some(b'"' | b'-' | b'0'..=b'9') => found.push(text(next)),
            _ => {}
        }
    }
    found.reverse();
    found
}

fn children(of: &RawValue) -> Vec<&RawValue> {
    match of.get().bytes().next() {
        Some(b'[') => serde_json::from_str(of.get()).unwrap_or_default(),
        Some(b'{') => {
            let members = serde_json::from_str::<Members<'_>>(of.get());
            members.map(|members| members.0.into_iter().map(|(_, value)| value).collect()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}
