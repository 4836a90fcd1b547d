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
pub(crate) struct Person {
    pty: Pty,
    bytes: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    /// How much of it has been looked for.
    noticed: usize,
}

impl Person {
    pub(crate) fn new() -> Self {
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
    pub(crate) fn asked_by<'a>(&self, run: Run<'a>) -> Run<'a> {
        run.with("--ask", "tty").on_terminal(&self.pty.inner)
    }

    /// A run that is all on the terminal.
    pub(crate) fn watches<'a>(&self, run: Run<'a>) -> Run<'a> {
        self.sits_at(self.asked_by(run))
    }

    /// The same, with nobody to ask.
    pub(crate) fn sits_at<'a>(&self, run: Run<'a>) -> Run<'a> {
        let inner = || -> File { self.pty.inner.try_clone().expect("dup") };
        run.on_terminal(&self.pty.inner).input_from(inner()).output_to(inner(), inner())
    }

    /// The terminal itself.
    pub(crate) fn terminal(&self) -> &Pty {
        &self.pty
    }

    /// Waits until this stands on the terminal, after what was waited for before; gives what came until then.
    #[track_caller]
    pub(crate) fn sees(&mut self, wanted: &str) -> String {
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
    pub(crate) fn has_been_shown(&mut self, wanted: &str) -> bool {
        self.seen.extend(self.bytes.try_iter().flatten());
        position(&self.seen[self.noticed..], wanted.as_bytes()).is_some()
    }

    /// What comes during that time.
    pub(crate) fn watches_for(&mut self, time: Duration) -> String {
        let end = Instant::now() + time;
        while let Ok(bytes) = self.bytes.recv_timeout(end.saturating_duration_since(Instant::now())) {
            self.seen.extend(bytes);
        }
        let text = String::from_utf8_lossy(&self.seen[self.noticed..]).into_owned();
        self.noticed = self.seen.len();
        text
    }

    pub(crate) fn types(&self, keys: &str) {
        (&self.pty.outer).write_all(keys.as_bytes()).expect("type");
    }

    /// Answers the next question, and gives what it looked like.
    #[track_caller]
    pub(crate) fn answers(&mut self, keys: &str) -> String {
        let question = self.sees(PROMPT);
        self.types(keys);
        self.types("\r");
        question
    }
}

fn position(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}
