//! Commands that go on while others run, and what they printed.

use super::apart::Apart;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stockade_policy::{Event, Notice, Outcome};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

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
    notices: Vec<Notice>,
    outcome: Option<Outcome>,
}

impl Ring {
    fn push(&mut self, stream: BackgroundStream, data: Vec<u8>) {
        self.bytes += data.len();
        self.chunks.push_back(BackgroundChunk { seq: self.next, stream, data });
        self.next += 1;
        while self.bytes > self.most
            && let Some(oldest) = self.chunks.pop_front()
        {
            self.bytes -= oldest.data.len();
            self.lost += oldest.data.len() as u64;
        }
    }
}

impl Background {
    pub(super) fn begin(text: OsString, mut command: Apart, most: usize) -> Arc<Self> {
        let (chunks, notices) = (VecDeque::new(), Vec::new());
        let ring = Ring { chunks, next: 0, bytes: 0, most, lost: 0, notices, outcome: None };
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
        let ring = lock(&self.ring);
        BackgroundOutput {
            chunks: ring.chunks.iter().filter(|chunk| chunk.seq >= from).cloned().collect(),
            next_seq: ring.next,
            notices: ring.notices.clone(),
            lost: ring.lost,
            state,
            outcome: ring.outcome.clone(),
        }
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
