//! How much of a body is looked through at once.
//!
//! Everything of a run shares one thread: its timers, its signals, its other connections. What a text costs to look
//! through depends on the text, which a command may have chosen. So it is taken in steps, small ones where they take
//! long, and after a long one others have their turn.

use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// The largest and the smallest step, in bytes.
const LARGEST: usize = 64 * 1024;
const SMALLEST: usize = 256;
/// A step that takes longer is followed by a rest as long as itself, and the next ones are smaller.
const LONG: Duration = Duration::from_millis(1);
/// No rest is longer.
const LONGEST_REST: Duration = Duration::from_millis(50);

/// What is still to be looked through of a piece, and at which pace.
pub(super) struct Pace {
    unread: Bytes,
    step: usize,
    rest: Option<Pin<Box<Sleep>>>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { unread: Bytes::new(), step: LARGEST, rest: None }
    }

    /// Has a piece looked through from now on. The one before is over.
    pub(super) fn begin(&mut self, piece: Bytes) {
        self.unread = piece;
    }

    /// Looks through the next step of the piece, once others had their turn; nothing when it is over.
    pub(super) fn poll_step(
        &mut self,
        cx: &mut Context<'_>,
        look: impl FnOnce(Bytes) -> Bytes,
    ) -> Poll<Option<Bytes>> {
        if self.unread.is_empty() {
            return Poll::Ready(None);
        }
        if let Some(rest) = &mut self.rest {
            std::task::ready!(rest.as_mut().poll(cx));
            self.rest = None;
        }
        let begun = Instant::now();
        let looked = look(self.unread.split_to(self.step.min(self.unread.len())));
        self.keep(begun.elapsed());
        Poll::Ready(Some(looked))
    }

    fn keep(&mut self, taken: Duration) {
        if taken > LONG {
            self.step = (self.step / 4).max(SMALLEST);
            self.rest = Some(Box::pin(sleep(taken.min(LONGEST_REST))));
        } else if taken < LONG / 4 {
            self.step = (self.step * 2).min(LARGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[tokio::test]
    async fn what_takes_long_is_taken_in_small_steps_with_rests() {
        let mut pace = Pace::new();
        pace.begin(Bytes::from(vec![b'x'; 3 * LARGEST]));
        let (mut sizes, mut others) = (Vec::new(), 0_u32);
        let counting = async {
            loop {
                others += 1;
                tokio::time::sleep(LONG).await;
            }
        };
        let reading = async {
            while sizes.iter().sum::<usize>() < LARGEST + LARGEST / 2 {
                let step = poll_fn(|cx| {
                    pace.poll_step(cx, |piece| {
                        std::thread::sleep(2 * LONG);
                        piece
                    })
                });
                sizes.push(step.await.map_or(0, |piece| piece.len()));
            }
        };
        tokio::select! { () = counting => {}, () = reading => {} }
        assert_eq!(sizes[..4], [LARGEST, LARGEST / 4, LARGEST / 16, LARGEST / 64]);
        assert!(others as usize >= sizes.len() - 1, "{others} turns beside {} steps", sizes.len());
    }

    #[tokio::test]
    async fn what_is_quick_is_not_held_up_and_nothing_is_lost() {
        let mut pace = Pace::new();
        let text: Vec<u8> = (0..3 * LARGEST + 7).map(|at| at as u8).collect();
        pace.begin(Bytes::from(text.clone()));
        let mut read = Vec::new();
        while let Some(piece) = poll_fn(|cx| pace.poll_step(cx, |piece| piece)).await {
            read.extend_from_slice(&piece);
        }
        assert_eq!(read, text);
    }
}
