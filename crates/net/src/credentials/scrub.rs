//! Real values that come back.
//!
//! A host that was sent a real value may send it back: an echo, an error page, a redirect. Each is covered with
//! its stand-in on the way in, cut or repeated to the same length, so that lengths and ranges still hold. In
//! which spellings it is found is said in [`spellings`](super::spellings).

use super::vault::{Store, Vault};
use super::watch::{Course, Sighting};
use super::words::Words;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    IF_RANGE, RANGE,
};
use http::{StatusCode, response};
use hyper::ext::ReasonPhrase;
use std::fmt;
use std::sync::Arc;
use stockade_policy::Target;

/// Covers real values in one answer. Give it every piece of the body in order, then finish.
pub(crate) struct Scrubber {
    store: Arc<Store>,
    /// What was read.
    course: Course,
    words: Words,
    /// The end of it, in which a real value may have begun.
    held: Vec<u8>,
}

impl Vault {
    /// Whether this host may have been sent a real value.
    pub(crate) fn may_know(&self, host: &Target) -> bool {
        self.store.may_know(host)
    }

    /// What covers real values in an answer, where the host may have been sent one. At which of its ports it
    /// was does not matter: what it keeps it may show at any of them.
    pub(crate) fn scrubber(&self, from: &Target) -> Option<Scrubber> {
        let (course, words) = (Course::default(), Words::default());
        self.store.may_know(from).then(|| Scrubber {
            store: Arc::clone(&self.store),
            course,
            words,
            held: Vec::new(),
        })
    }
}

impl Scrubber {
    /// Asks for an answer that can be read: not encoded, and whole. In slices of an answer no value is found.
    pub(crate) fn ask_plainly(&self, headers: &mut HeaderMap) {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.remove(RANGE);
        headers.remove(IF_RANGE);
    }

    /// Whether an answer can be read.
    pub(crate) fn can_read(&self, head: &response::Parts) -> Result<(), Unread> {
        if head.headers.get_all(CONTENT_ENCODING).iter().any(|value| value != "identity") {
            return Err(Unread::Encoded);
        }
        if is_slice(head) { Err(Unread::Slice) } else { Ok(()) }
    }

    /// Covers what is in the head of an answer.
    pub(crate) fn answer(&self, head: &mut response::Parts) {
        // The usual words say as much.
        head.extensions.remove::<ReasonPhrase>();
        self.head(&mut head.headers);
    }

    /// Covers what is in headers. One whose name tells is left out: names cannot be covered, and their letters'
    /// case is lost on the way.
    pub(crate) fn head(&self, headers: &mut HeaderMap) {
        let telling: Vec<HeaderName> =
            headers.keys().filter(|name| self.store.spellings().is_in_name(name.as_str())).cloned().collect();
        for name in telling {
            headers.remove(name);
        }
        for value in headers.values_mut() {
            let mut text = value.as_bytes().to_vec();
            if self.cover_all(&mut text) == Covered::Some
                && let Ok(covered) = HeaderValue::from_bytes(&text)
            {
                *value = covered;
            }
        }
    }

    /// Takes a piece and gives what can be passed on: all but the last word, whatever it is.
    pub(crate) fn push(&mut self, piece: Bytes) -> Bytes {
        let sightings = self.read(&piece);
        let withheld = self.withheld();
        if self.held.is_empty() && sightings.is_empty() && withheld == self.course.at {
            return piece;
        }
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(&piece);
        let from = self.course.at - text.len() as u64;
        for sighting in sightings {
            self.cover(sighting, from, &mut text);
        }
        let sure = usize::try_from(withheld.saturating_sub(from)).unwrap_or(usize::MAX);
        self.held = text.split_off(sure.min(text.len()));
        text.into()
    }

    /// What was held back. Nothing more comes.
    pub(crate) fn finish(mut self) -> Bytes {
        std::mem::take(&mut self.held).into()
    }

    /// Reads on, and gives the values that have ended.
    pub(super) fn read(&mut self, text: &[u8]) -> Vec<Sighting> {
        let spellings = self.store.spellings();
        self.words.read(spellings.reach, text);
        spellings.watch.read(&mut self.course, text)
    }

    /// Forgets what was read: what comes now is another text.
    pub(super) fn begin_anew(&mut self) {
        self.course = Course::default();
        self.words = Words::default();
    }

    /// From where on what was read may not be passed on yet.
    pub(super) fn withheld(&self) -> u64 {
        self.words.withheld(self.store.spellings().reach)
    }

    /// Covers a value in a text that begins at `from`.
    pub(super) fn cover(&self, sighting: Sighting, from: u64, text: &mut [u8]) {
        self.store.spellings().watch.cover(sighting, from, text);
    }

    /// Covers every value in a text of its own.
    pub(super) fn cover_all(&self, text: &mut [u8]) -> Covered {
        let sightings = self.store.spellings().watch.read(&mut Course::default(), text);
        let covered = if sightings.is_empty() { Covered::Nothing } else { Covered::Some };
        for sighting in sightings {
            self.cover(sighting, 0, text);
        }
        covered
    }
}

/// Whether an answer is not whole, by whatever sign of it.
fn is_slice(head: &response::Parts) -> bool {
    let kind = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    matches!(head.status, StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE)
        || head.headers.contains_key(CONTENT_RANGE)
        || kind.eq_ignore_ascii_case(b"multipart/byteranges")
}

/// Why real values cannot be found in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unread {
    #[error("an encoded answer, in which a secret that it was sent could not be found")]
    Encoded,
    #[error("a part of an answer that was asked for whole, in which a secret could not be found")]
    Slice,
}

/// Whether there was anything to cover.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Covered {
    Nothing,
    Some,
}

impl fmt::Debug for Scrubber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Scrubber")
    }
}
