//! Real values that come back.
//!
//! A host that was sent a real value may send it back: an echo, an error page, a redirect. Each is covered with
//! its stand-in on the way in, cut or repeated to the same length, so that lengths and ranges still hold. In
//! which spellings it is found is said in [`spellings`](super::spellings).

use super::inject::Channel;
use super::needles::{After, Found};
use super::vault::{Store, Vault};
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderValue};
use std::fmt;
use std::sync::Arc;
use stockade_policy::Target;

/// Covers real values in one answer. Give it every piece of the body in order, then finish.
pub(crate) struct Scrubber {
    store: Arc<Store>,
    /// The beginning of a real value at the end of the last piece.
    held: Vec<u8>,
}

impl Vault {
    /// What covers real values in an answer, where the host may have been sent one.
    pub(crate) fn scrubber(&self, from: &Target, channel: Channel) -> Option<Scrubber> {
        let sent = self.store.permits(from, channel).contains(&Ok(()));
        sent.then(|| Scrubber { store: Arc::clone(&self.store), held: Vec::new() })
    }
}

impl Scrubber {
    /// Asks for an answer that can be read.
    pub(crate) fn ask_plainly(headers: &mut HeaderMap) {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }

    /// Whether an answer with these headers cannot be read.
    pub(crate) fn is_blind(headers: &HeaderMap) -> bool {
        headers.get_all(CONTENT_ENCODING).iter().any(|value| value != "identity")
    }

    /// Covers what is in the head.
    pub(crate) fn head(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let mut text = value.as_bytes().to_vec();
            if self.cover(&mut text, After::Nothing) == Covered::Some
                && let Ok(covered) = HeaderValue::from_bytes(&text)
            {
                *value = covered;
            }
        }
    }

    /// Takes a piece and gives what can be passed on.
    pub(crate) fn push(&mut self, piece: Bytes) -> Bytes {
        let needles = &self.store.spellings.needles;
        if self.held.is_empty() && needles.find(&piece, 0, After::MoreMayCome) == Found::Nothing {
            return piece;
        }
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(&piece);
        self.cover(&mut text, After::MoreMayCome);
        self.held = text.split_off(self.begun(&text));
        text.into()
    }

    /// What was held back. Nothing more comes.
    pub(crate) fn finish(mut self) -> Bytes {
        let mut text = std::mem::take(&mut self.held);
        self.cover(&mut text, After::Nothing);
        text.into()
    }

    /// Where the beginning of a real value stands that the next piece may go on with.
    pub(super) fn begun(&self, text: &[u8]) -> usize {
        match self.store.spellings.needles.find(text, 0, After::MoreMayCome) {
            Found::Begun { start } => start,
            _ => text.len(),
        }
    }

    /// Covers every real value in the text.
    pub(super) fn cover(&self, text: &mut [u8], after: After) -> Covered {
        let (mut covered, mut at) = (Covered::Nothing, 0);
        while let Found::Whole { start, length, number } = self.store.spellings.needles.find(text, at, after)
        {
            at = start + length;
            text[start..at].copy_from_slice(self.store.spellings.cover(number));
            covered = Covered::Some;
        }
        covered
    }
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
