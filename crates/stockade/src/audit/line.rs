//! A line of the log: how it is written, and what holds it in the chain.

use super::AuditEvent;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::io::{self, BufWriter};

/// Bytes of any one text in a line. Commands may be megabytes long: the digest of the whole stands for the rest.
const LONGEST_TEXT: usize = 8192;

/// No line of ours is longer.
pub(super) const LONGEST_LINE: usize = 1 << 20;

/// A SHA-256 as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Hash([u8; 64]);

/// What the next line has to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) hash: Hash,
}

/// A line taken apart far enough to check it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) link: Link,
    pub(super) prev: Hash,
    /// What the hash should be.
    pub(super) computed: Hash,
}

impl Hash {
    /// Before the first line.
    pub(super) const NONE: Self = Self([b'0'; 64]);

    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let digits: [u8; 64] = text.try_into().ok()?;
        digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')).then_some(Self(digits))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(std::str::from_utf8(&self.0).unwrap_or_default())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

impl Link {
    /// Before the first line.
    pub(super) const NONE: Self = Self { seq: 0, hash: Hash::NONE };
}

/// The SHA-256 of some pieces, one after the other.
pub(super) fn digest(pieces: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    for piece in pieces {
        hasher.update(piece);
    }
    finish(hasher)
}

/// The SHA-256 of a value's JSON, which is nowhere whole: that of many rules is large. That of nothing where there
/// is none.
pub(super) fn digest_of_json(value: &impl Serialize) -> Hash {
    let mut writer = BufWriter::with_capacity(PIECE, Hashing(Sha256::new()));
    let written = serde_json::to_writer(&mut writer, value).is_ok();
    match writer.into_inner() {
        Ok(Hashing(hasher)) if written => finish(hasher),
        _ => digest(&[]),
    }
}

/// How much JSON is hashed at once.
const PIECE: usize = 4096;

struct Hashing(Sha256);

impl io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn finish(hasher: Sha256) -> Hash {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(hasher.finalize()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    Hash(text)
}

/// Adds the line of an event that follows `after`, and gives what follows it.
pub(super) fn write(
    event: &AuditEvent,
    time: u64,
    after: Link,
    into: &mut Vec<u8>,
) -> serde_json::Result<Link> {
    let mut event = serde_json::to_value(event)?;
    shorten(&mut event);
    let event = event.to_string();
    let fields = event.strip_prefix('{').and_then(|fields| fields.strip_suffix('}')).unwrap_or_default();
    let seq = after.seq + 1;
    let body = format!("{{\"seq\":{seq},\"time\":{time},{fields},\"prev\":\"{}\"", after.hash);
    let hash = digest(&[&after.hash.0, body.as_bytes(), b"}"]);
    into.extend_from_slice(body.as_bytes());
    into.extend_from_slice(format!(",\"hash\":\"{hash}\"}}\n").as_bytes());
    Ok(Link { seq, hash })
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONGEST_TEXT => {
            let left_out = text.len() - text.floor_char_boundary(LONGEST_TEXT);
            let whole = digest(&[text.as_bytes()]);
            text.truncate(text.len() - left_out);
            text.push_str(&format!("… [{left_out} more bytes, sha256 of the whole {whole}]"));
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Takes a line (without its end) apart. Read as it was written, byte by byte: there is one spelling.
pub(super) fn read(line: &[u8]) -> Option<Parts> {
    let rest = line.strip_suffix(b"\"}")?;
    let (rest, hash) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
    let body = rest.strip_suffix(b",\"hash\":\"")?;
    let rest = body.strip_suffix(b"\"")?;
    let (rest, prev) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
    rest.strip_suffix(b",\"prev\":\"")?;
    let rest = line.strip_prefix(b"{\"seq\":")?;
    let digits = rest.split(|byte| *byte == b',').next()?;
    let seq = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let prev = Hash::read(prev)?;
    Some(Parts {
        link: Link { seq, hash: Hash::read(hash)? },
        prev,
        computed: digest(&[&prev.0, body, b"}"]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hashed_piece_by_piece_has_the_same_digest() {
        for length in [0, 10, PIECE - 1, PIECE, 3 * PIECE + 7] {
            let value = serde_json::json!({ "text": "é\"".repeat(length), "number": length });
            let whole = digest(&[value.to_string().as_bytes()]);
            assert_eq!(digest_of_json(&value).to_string(), whole.to_string(), "{length}");
        }
    }

    fn event(command: &str) -> AuditEvent {
        AuditEvent::BareRun {
            sandbox: "b".into(),
            command: command.into(),
            cwd: "/".into(),
            reason: "asked".into(),
        }
    }

    #[test]
    fn the_hash_is_that_of_the_text() {
        assert_eq!(
            digest(&[b"a", b"bc"]).to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let mut text = Vec::new();
        let link = write(&event("a \"b\"\n,\"hash\":\""), 7, Link::NONE, &mut text).unwrap();
        let line = text.strip_suffix(b"\n").unwrap();
        assert!(!line.contains(&b'\n'));
        let parts = read(line).unwrap();
        assert_eq!((parts.link, parts.prev, parts.computed), (link, Hash::NONE, link.hash));
        // As documented: `prev`, then the line without its `hash`.
        let without: serde_json::Map<String, Value> = serde_json::from_slice(line).unwrap();
        let mut without = without.clone();
        assert_eq!(without.remove("hash").unwrap(), link.hash.to_string());
        let text = serde_json::to_string(&without).unwrap();
        assert_eq!(digest(&[&Hash::NONE.0, text.as_bytes()]), link.hash);
    }

    #[test]
    fn what_is_no_line_is_none() {
        let mut text = Vec::new();
        write(&event("c"), 7, Link::NONE, &mut text).unwrap();
        let line = text.strip_suffix(b"\n").unwrap();
        for end in 0..line.len() {
            assert_eq!(read(&line[..end]), None, "{end}");
        }
        assert_eq!(read(b"\"}"), None);
    }

    #[test]
    fn long_texts_are_cut() {
        let mut text = Vec::new();
        let command = "ä".repeat(1 << 20);
        write(&event(&command), 7, Link::NONE, &mut text).unwrap();
        assert!(text.len() < 10_000);
        let whole = digest(&[command.as_bytes()]);
        let said = format!("ä… [2088960 more bytes, sha256 of the whole {whole}]\"");
        assert!(String::from_utf8(text).unwrap().contains(&said));
    }
}
