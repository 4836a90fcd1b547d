//! What is known about the requests of a stream whose answers are passed on unseen.

use super::agree::{Asked, still};
use super::answer::Answer;
use super::head::Head;
use crate::Verdict;
use crate::gateway::{Admitted, Direction, Exchange};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The present request of a stream.
pub(super) struct Seen<'a> {
    admitted: &'a Admitted,
    present: Mutex<Option<Present>>,
}

struct Present {
    exchange: Exchange,
    /// Whether the next bytes of the server are the beginning of an answer.
    awaited: bool,
    sent: u64,
    received: u64,
}

impl<'a> Seen<'a> {
    pub(super) fn new(admitted: &'a Admitted) -> Self {
        Self { admitted, present: Mutex::default() }
    }

    /// A new request. The one before is over.
    pub(super) fn begin(&self, head: &Head, asked: &Asked) {
        self.close();
        let (sent, received) = self.admitted.meter().totals();
        let still = still(&self.admitted.target, asked, &head.method, head.wishes);
        let exchange = self.admitted.only_exchange((&head.method, &asked.path), still);
        *self.present() = Some(Present { exchange, awaited: false, sent, received });
    }

    /// Its head goes to the server.
    pub(super) fn sent(&self) {
        if let Some(present) = &mut *self.present() {
            present.awaited = true;
        }
    }

    /// It is answered here.
    pub(super) fn refused(&self, answer: &Answer) {
        if let Some(present) = &*self.present() {
            present.exchange.answered(answer.status().as_u16());
            present.exchange.ended(match answer.status().is_server_error() {
                true => Verdict::Failed,
                false => Verdict::Refused,
            });
        }
    }

    /// The status of the answer is known.
    pub(super) fn answered(&self, status: u16) {
        if let Some(present) = &mut *self.present() {
            present.awaited = false;
            present.exchange.answered(status);
        }
    }

    /// Bytes of the server. Right after a request they begin with a status; whoever sends several requests
    /// at once may find a wrong one in the record.
    pub(super) fn look(&self, bytes: &[u8]) {
        let mut present = self.present();
        let Some(present) = present.as_mut().filter(|present| present.awaited) else { return };
        if let Some(status) = status_of(bytes) {
            // Others follow one of those.
            present.awaited = (100..200).contains(&status);
            present.exchange.answered(status);
        }
    }

    fn close(&self) {
        if let Some(present) = self.present().take() {
            let (sent, received) = self.admitted.meter().totals();
            let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
            present.exchange.count(size(sent - present.sent), Direction::Sent);
            present.exchange.count(size(received - present.received), Direction::Received);
        }
    }

    fn present(&self) -> MutexGuard<'_, Option<Present>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seen<'_> {
    fn drop(&mut self) {
        self.close();
    }
}

fn status_of(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"HTTP/1.")?.get(2..5)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
