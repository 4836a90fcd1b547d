//! Writing to stderr. A pipe that is full and never read must not keep a program that catches signals: nothing would
//! end it.

use crate::run::Signals;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Whoever reads takes a few words at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it is looked whether everything is written.
const LOOK: Duration = Duration::from_millis(20);

/// Nobody reads this many words that were left waiting.
const MOST_WAITING: usize = 256;

/// Whether the end of a run waits for somebody who reads slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Haste {
    /// The run came to its own end: a pager that shows its first page gets the last words, too.
    None,
    /// Its time is up, or somebody ended it.
    Great,
}

static QUEUE: Queue = Queue {
    state: Mutex::new(State {
        texts: VecDeque::new(),
        writing: false,
        writer: false,
        brief: false,
        behind: false,
    }),
    written: Condvar::new(),
};

/// What waits to be written.
struct Queue {
    state: Mutex<State>,
    written: Condvar,
}

struct State {
    texts: VecDeque<Vec<u8>>,
    /// The writer is about a text that is not in the queue any more.
    writing: bool,
    /// There is one.
    writer: bool,
    /// Signals do not end us by themselves.
    brief: bool,
    /// It was waited for once, and in vain.
    behind: bool,
}

impl State {
    fn is_written(&self) -> bool {
        self.texts.is_empty() && !self.writing
    }
}

/// From here on nothing waits for a reader longer than a moment.
pub(crate) fn be_brief() {
    lock().brief = true;
}

/// One write, so that lines of several processes do not mix. A closed stderr is nobody's failure.
pub(crate) fn write(text: &[u8]) {
    let mut state = lock();
    if state.texts.len() >= MOST_WAITING {
        return;
    }
    if !state.writer {
        // A thread, because no look beforehand says how much a pipe or a terminal takes by the time it is written to.
        if thread::Builder::new().spawn(work).is_err() {
            drop(state);
            return put(text);
        }
        state.writer = true;
    }
    state.texts.push_back(text.to_vec());
    QUEUE.written.notify_all();
    let until = Instant::now() + PATIENCE;
    while !(state.is_written() || state.brief && state.behind) {
        let left = if state.brief { until.saturating_duration_since(Instant::now()) } else { PATIENCE };
        if left.is_zero() {
            state.behind = true;
            return;
        }
        state = QUEUE.written.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Waits until the last words are written, or a signal comes. In haste there is no waiting beyond what each of them had.
pub(crate) async fn finish(haste: Haste, signals: &mut Signals) {
    let written = async {
        while haste == Haste::None && !lock().is_written() {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::select! {
        biased;
        () = written => {}
        _ = signals.next() => {}
    }
}

/// Writes what comes, for as long as the program lives.
fn work() {
    let mut state = lock();
    loop {
        let Some(text) = state.texts.pop_front() else {
            state = QUEUE.written.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        state.writing = true;
        drop(state);
        put(&text);
        state = lock();
        state.writing = false;
        state.behind = state.behind && !state.texts.is_empty();
        QUEUE.written.notify_all();
    }
}

fn put(text: &[u8]) {
    let _ = std::io::stderr().lock().write_all(text);
}

fn lock() -> MutexGuard<'static, State> {
    QUEUE.state.lock().unwrap_or_else(PoisonError::into_inner)
}
