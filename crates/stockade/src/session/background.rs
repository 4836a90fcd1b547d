//! Commands that go on while others run, and what they printed.

use super::apart::Apart;
use super::shelf::{MOST_BYTES, Slot};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stockade_policy::{Event, Notice, NoticeWeight, Outcome};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// Pieces are put together up to this size, as long as nobody has seen the first one: each costs more than its bytes.
const SMALL: usize = 1024;
/// What a piece takes besides its bytes.
const PIECE: usize = 64;
/// What a refusal takes, about.
const VIOLATION: usize = 256;

/// A background command's number in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackgroundId(pub u64);

/// Where a piece of output was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A piece of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundChunk {
    /// Counts pieces from 0.
    pub seq: u64,
    /// Where it was printed.
    pub stream: BackgroundStream,
    /// The bytes as they came.
    pub data: Vec<u8>,
}

/// What a background command printed.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundOutput {
    /// The pieces that were asked for and are still kept.
    pub chunks: Vec<BackgroundChunk>,
    /// What to ask for next time.
    pub next_seq: u64,
    /// What there is to know about it: that it runs without walls, for example.
    pub notices: Vec<Notice>,
    /// Bytes that were printed and are not kept any more, since the start.
    pub lost: u64,
    /// Whether it still runs.
    pub state: BackgroundState,
    /// What became of it, once it is over.
    pub outcome: Option<Outcome>,
}

/// Whether a background command still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundState {
    /// It runs.
    Running,
    /// It is over.
    Over,
}

/// A command and the last of its output. Dropping it kills the command.
#[derive(Debug)]
pub(super) struct Background {
    text: OsString,
    ring: Arc<Mutex<Ring>>,
    over: watch::Receiver<BackgroundState>,
    cancels: mpsc::UnboundedSender<i32>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Ring {
    chunks: VecDeque<BackgroundChunk>,
    next: u64,
    bytes: usize,
    most: usize,
    lost: u64,
    /// The first piece that nobody can have seen.
    unseen: u64,
    notices: Vec<Notice>,
    outcome: Option<Outcome>,
}

impl Ring {
    fn push(&mut self, stream: BackgroundStream, mut data: Vec<u8>) {
        self.bytes += data.len();
        let small = SMALL.min(self.most / 8);
        let (unseen, length) = (self.unseen, data.len());
        let fits = |last: &&mut BackgroundChunk| {
            last.seq >= unseen && last.stream == stream && last.data.len() + length <= small
        };
        match self.chunks.back_mut().filter(fits) {
            Some(last) => last.data.append(&mut data),
            None => {
                data.shrink_to_fit();
                self.chunks.push_back(BackgroundChunk { seq: self.next, stream, data });
                self.next += 1;
            }
        }
        let pieces = (self.most / PIECE).max(PIECE);
        while (self.bytes > self.most || self.chunks.len() > pieces)
            && let Some(oldest) = self.chunks.pop_front()
        {
            self.bytes -= oldest.data.len();
            self.lost += oldest.data.len() as u64;
        }
    }

    /// About as many bytes as all of it takes.
    fn weight(&self) -> usize {
        let violations = self.outcome.as_ref().map_or(0, |outcome| outcome.violations.len());
        self.bytes + self.chunks.len() * PIECE + violations * VIOLATION
    }

    fn let_go(&mut self) {
        if self.weight() == 0 {
            return;
        }
        self.lost += self.bytes as u64;
        (self.bytes, self.chunks) = (0, VecDeque::new());
        if let Some(outcome) = &mut self.outcome {
            let violations = std::mem::take(&mut outcome.violations);
            outcome.more_violations += violations.len() as u64;
        }
        let kept = MOST_BYTES >> 20;
        let text = format!(
            "its output was let go: background commands that ended keep {kept} MiB together, and others ended since"
        );
        self.notices.push(Notice { weight: NoticeWeight::Warning, text });
    }
}

impl Background {
    pub(super) fn begin(text: OsString, mut command: Apart, most: usize, slot: Slot) -> Arc<Self> {
        let (chunks, notices) = (VecDeque::new(), Vec::new());
        let ring = Ring { chunks, next: 0, bytes: 0, most, lost: 0, unseen: 0, notices, outcome: None };
        let ring = Arc::new(Mutex::new(ring));
        let (tell, over) = watch::channel(BackgroundState::Running);
        let (cancels, mut cancelled) = mpsc::unbounded_channel();
        let kept = Arc::clone(&ring);
        let task = tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    event = command.next() => event,
                    Some(signal) = cancelled.recv() => {
                        command.cancel(signal);
                        continue;
                    }
                };
                match event {
                    Some(Event::Stdout { data }) => lock(&kept).push(BackgroundStream::Stdout, data),
                    Some(Event::Stderr { data }) => lock(&kept).push(BackgroundStream::Stderr, data),
                    Some(Event::Notice(notice)) => lock(&kept).notices.push(notice),
                    Some(Event::Exited(outcome)) => lock(&kept).outcome = Some(*outcome),
                    Some(_) => {}
                    None => break,
                }
            }
            slot.settle();
            tell.send_replace(BackgroundState::Over);
        });
        Arc::new(Self { text, ring, over, cancels, task })
    }

    pub(super) fn text(&self) -> &OsString {
        &self.text
    }

    pub(super) fn state(&self) -> BackgroundState {
        *self.over.borrow()
    }

    pub(super) fn output(&self, from: u64) -> BackgroundOutput {
        // Before the output: who hears that it is over has heard everything.
        let state = self.state();
        let mut ring = lock(&self.ring);
        ring.unseen = ring.next;
        BackgroundOutput {
            chunks: ring.chunks.iter().filter(|chunk| chunk.seq >= from).cloned().collect(),
            next_seq: ring.next,
            notices: ring.notices.clone(),
            lost: ring.lost,
            state,
            outcome: ring.outcome.clone(),
        }
    }

    /// About as many bytes as it keeps.
    pub(super) fn weight(&self) -> usize {
        self.text.len() + lock(&self.ring).weight()
    }

    /// Lets go of what it printed, and tells how many bytes that is.
    pub(super) fn let_go(&self) -> usize {
        let mut ring = lock(&self.ring);
        let before = ring.weight();
        ring.let_go();
        before - ring.weight()
    }

    pub(super) fn cancel(&self, signal: i32) {
        // One that is over needs no signal.
        let _ = self.cancels.send(signal);
    }

    pub(super) async fn wait(&self) {
        // An error means that the task was aborted: nothing more will come.
        let _ = self.over.clone().wait_for(|state| *state == BackgroundState::Over).await;
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(ring: &Mutex<Ring>) -> MutexGuard<'_, Ring> {
    // Pieces are added and removed whole.
    ring.lock().unwrap_or_else(PoisonError::into_inner)
}
