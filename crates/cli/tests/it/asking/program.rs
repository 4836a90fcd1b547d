//! A program that answers over a descriptor.

use crate::support::{Live, Ran, Run};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The descriptor's number in the launcher.
const NUMBER: i32 = 7;
/// No question of this suite takes longer to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run that asks here.
pub(super) struct Program {
    live: Live,
    lines: Receiver<Value>,
    to: UnixStream,
}

impl Program {
    /// Starts a run; `start` adds the command.
    pub(super) fn begin<'a>(run: Run<'a>, start: impl FnOnce(Run<'a>) -> Live) -> Self {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let live = start(run.opts(["--ask", &format!("fd:{NUMBER}")]).holding(theirs, NUMBER));
        let (send, lines) = mpsc::channel();
        let from = BufReader::new(ours.try_clone().expect("dup"));
        thread::spawn(move || {
            for line in from.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Self { live, lines, to: ours }
    }

    /// The run itself.
    pub(super) fn live(&self) -> &Live {
        &self.live
    }

    /// The next line; nothing when the run has closed its end.
    #[track_caller]
    pub(super) fn next(&self) -> Option<Value> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("nothing was said within {PATIENCE:?}"),
        }
    }

    /// The next line, which is a question.
    #[track_caller]
    pub(super) fn question(&self) -> Value {
        let line = self.next().expect("a question, but the run is over");
        assert_eq!(line["type"], "ask", "{line}");
        line
    }

    /// Fails if anything is said during that time.
    #[track_caller]
    pub(super) fn hears_nothing(&self, during: Duration) {
        if let Ok(line) = self.lines.recv_timeout(during) {
            panic!("nobody expected {line}");
        }
    }

    pub(super) fn says(&mut self, line: &str) {
        // A run that is over needs no answer.
        let _ = self.to.write_all(format!("{line}\n").as_bytes());
    }

    pub(super) fn answers(&mut self, question: &Value, reply: &str) {
        self.says(&json!({"id": question["id"], "answer": reply}).to_string());
    }

    /// Answers everything to the end of the run, and gives back all that was said.
    #[track_caller]
    pub(super) fn attend(mut self, mut reply: impl FnMut(&Value) -> &'static str) -> (Vec<Value>, Ran) {
        let mut heard = Vec::new();
        while let Some(line) = self.next() {
            if line["type"] == "ask" {
                let answer = reply(&line);
                self.answers(&line, answer);
            }
            heard.push(line);
        }
        (heard, self.finish())
    }

    /// Stops listening.
    pub(super) fn leaves(&self) {
        self.to.shutdown(std::net::Shutdown::Both).expect("shutdown");
    }

    /// Waits for the end of the run.
    #[track_caller]
    pub(super) fn finish(self) -> Ran {
        self.live.finish(PATIENCE)
    }
}
