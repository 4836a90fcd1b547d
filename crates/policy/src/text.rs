//! Serde for text the operating system does not promise to be UTF-8.
//!
//! Plans and events are read by people and programs that expect plain strings; the odd byte becomes the
//! replacement character on the way out.

use serde::{Deserialize, Deserializer, Serializer};
use std::ffi::{OsStr, OsString};

pub(crate) fn serialize<S: Serializer>(text: &OsStr, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&text.to_string_lossy())
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<OsString, D::Error> {
    String::deserialize(from).map(OsString::from)
}

/// The same for bytes of output.
pub(crate) mod bytes {
    use super::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(data: &[u8], out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&String::from_utf8_lossy(data))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        String::deserialize(from).map(String::into_bytes)
    }
}
