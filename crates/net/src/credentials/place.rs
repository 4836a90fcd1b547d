//! How a value has to be written where it is put.

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};

/// Where in a request a value is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A header, or a body of which nothing is known.
    Verbatim,
    /// The path.
    Path,
    /// The query, or a form.
    Query,
    /// JSON, inside a string.
    Json,
}

impl Place {
    /// What a body with these headers is; nothing where it cannot be read.
    pub(super) fn of_body(headers: &HeaderMap) -> Option<Self> {
        let encoded = headers.get_all(CONTENT_ENCODING).iter().any(|value| value != "identity");
        if encoded {
            return None;
        }
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Some(match kind.as_str() {
            "application/x-www-form-urlencoded" => Self::Query,
            kind if kind == "application/json" || kind.ends_with("+json") => Self::Json,
            _ => Self::Verbatim,
        })
    }

    /// Writes a value so that whoever reads the request gets exactly its bytes.
    pub(super) fn write(self, value: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Verbatim => out.extend_from_slice(value),
            Self::Path => percent(value, b"-._~!$&'()*+,;=:@", out),
            Self::Query => percent(value, b"-._~", out),
            Self::Json => json(value, out),
        }
    }
}

/// Everything but letters, digits and `kept` as `%XX`.
pub(super) fn percent(value: &[u8], kept: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value {
        if byte.is_ascii_alphanumeric() || kept.contains(byte) {
            out.push(*byte);
        } else {
            out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

fn json(value: &[u8], out: &mut Vec<u8>) {
    for byte in value {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            0..0x20 => out.extend(format!("\\u{byte:04x}").bytes()),
            _ => out.push(*byte),
        }
    }
}
