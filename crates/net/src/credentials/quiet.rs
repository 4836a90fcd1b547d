//! How long the end of what was read waits for more.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes wait no longer than this: somebody may wait for them.
const LONGEST: Duration = Duration::from_millis(100);
/// What comes within this time came at once.
const AT_ONCE: Duration = Duration::from_millis(20);

/// When the last bytes of a stream came.
#[derive(Default)]
pub(super) struct Quiet {
    /// How far the stream had come, and since when.
    marks: VecDeque<(u64, Instant)>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Quiet {
    /// The stream has come this far.
    pub(super) fn heard(&mut self, at: u64) {
        let now = Instant::now();
        match self.marks.back_mut() {
            Some((last, since)) if now.duration_since(*since) < AT_ONCE => *last = at,
            _ => self.marks.push_back((at, now)),
        }
    }

    /// What came before this was passed on.
    pub(super) fn passed_on(&mut self, until: u64) {
        while self.marks.front().is_some_and(|(at, _)| *at <= until) {
            self.marks.pop_front();
        }
    }

    /// Another stream begins.
    pub(super) fn begin_anew(&mut self) {
        self.marks.clear();
    }

    /// How far bytes have waited long enough. Where none wait nobody is woken.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<u64> {
        let Some((at, since)) = self.marks.front().copied() else { return Poll::Pending };
        let until = since + LONGEST;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if sleep.deadline() != until {
            sleep.as_mut().reset(until);
        }
        ready!(sleep.as_mut().poll(cx));
        self.marks.pop_front();
        Poll::Ready(at)
    }
}
