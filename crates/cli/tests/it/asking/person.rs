//! A person at a terminal.

use crate::support::{Pty, Run};
use std::fs::File;
use std::io::{Read, Write};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
/// What every question ends with.
pub(super) const PROMPT: &str = "allow? [";

/// Somebody who looks at a terminal and types.
pub(super) struct Person {
    pty: Pty,
    bytes: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    /// How much of it has been looked for.
    noticed: usize,
}

impl Person {
    pub(super) fn new() -> Self {
        let pty = Pty::open().expect("a terminal");
        let mut from = pty.outer.try_clone().expect("dup");
        let (send, bytes) = mpsc::channel();
        thread::spawn(move || {
            let mut block = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut block) {
                if send.send(block[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { pty, bytes, seen: Vec::new(), noticed: 0 }
    }

    /// A run that belongs to the terminal; its output goes elsewhere.
    pub(super) fn asked_by<'a>(&self, run: Run<'a>) -> Run<'a> {
        run.with("--ask", "tty").on_terminal(&self.pty.inner)
    }

    /// A run that is all on the terminal.
    pub(super) fn watches<'a>(&self, run: Run<'a>) -> Run<'a> {
        let inner = || -> File { self.pty.inner.try_clone().expect("dup") };
        self.asked_by(run).input_from(inner()).output_to(inner(), inner())
    }

    /// Waits until this stands on the terminal, after what was waited for before; gives what came until then.
    #[track_caller]
    pub(super) fn sees(&mut self, wanted: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let fresh = &self.seen[self.noticed..];
            if let Some(at) = position(fresh, wanted.as_bytes()) {
                let until = at + wanted.len();
                let text = String::from_utf8_lossy(&fresh[..until]).into_owned();
                self.noticed += until;
                return text;
            }
            match self.bytes.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.seen.extend(bytes),
                Err(_) => panic!("{wanted:?} is not in {:?}", String::from_utf8_lossy(fresh)),
            }
        }
    }

    /// Whether that stands on the terminal already, after what was waited for before.
    pub(super) fn has_been_shown(&mut self, wanted: &str) -> bool {
        self.seen.extend(self.bytes.try_iter().flatten());
        position(&self.seen[self.noticed..], wanted.as_bytes()).is_some()
    }

    /// What comes during that time.
    pub(super) fn watches_for(&mut self, time: Duration) -> String {
        let end = Instant::now() + time;
        while let Ok(bytes) = self.bytes.recv_timeout(end.saturating_duration_since(Instant::now())) {
            self.seen.extend(bytes);
        }
        let text = String::from_utf8_lossy(&self.seen[self.noticed..]).into_owned();
        self.noticed = self.seen.len();
        text
    }

    pub(super) fn types(&self, keys: &str) {
        (&self.pty.outer).write_all(keys.as_bytes()).expect("type");
    }

    /// Answers the next question, and gives what it looked like.
    #[track_caller]
    pub(super) fn answers(&mut self, keys: &str) -> String {
        let question = self.sees(PROMPT);
        self.types(keys);
        self.types("\r");
        question
    }
}

fn position(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}
