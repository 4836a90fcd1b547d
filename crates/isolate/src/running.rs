//! A command that is running: its events, its input, its end.

use crate::WindowSize;
use std::io;
use std::os::fd::OwnedFd;
use stockade_policy::{Event, Outcome, Reply};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};

/// What the caller can ask of a running command.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Send this signal to the command's process group; it decides what to do.
    Signal(i32),
    /// Send this signal, wait a moment, kill everything; the Outcome says cancelled.
    Cancel(i32),
    /// Answer a question.
    Reply(u64, Reply),
    /// Say when everything until now is told, and begin to count anew.
    Turn(oneshot::Sender<u64>),
}

/// A started command. Dropping it kills the command.
#[derive(Debug)]
pub struct Running {
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) wishes: mpsc::UnboundedSender<Wish>,
    pub(crate) stdin: Option<pipe::Sender>,
    pub(crate) terminal: Option<OwnedFd>,
    pub(crate) pid: u32,
}

impl Running {
    /// The process as the sandbox numbers it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The next event; `None` after [`Event::Exited`].
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The writing end of a piped standard input; dropping it is end of file.
    pub fn stdin(&mut self) -> Option<pipe::Sender> {
        self.stdin.take()
    }

    /// The outer end of the private terminal.
    pub fn terminal(&mut self) -> Option<OwnedFd> {
        self.terminal.take()
    }

    /// Sends a signal to the command's process group.
    pub fn signal(&self, signal: i32) {
        // A closed channel means the command is over: there is nobody left to signal.
        let _ = self.wishes.send(Wish::Signal(signal));
    }

    /// Ends the command: this signal first, SIGKILL to everything inside two seconds later.
    pub fn cancel(&self, signal: i32) {
        let _ = self.wishes.send(Wish::Cancel(signal));
    }

    /// Answers an [`Event::Ask`]. A question that is over by then stays answered as it was.
    pub fn reply(&self, id: u64, reply: Reply) {
        let _ = self.wishes.send(Wish::Reply(id, reply));
    }

    /// For a command that works for several callers one after the other, such as a shell: what was refused
    /// until now belongs to the one that is over. Resolves when all of it is among the events, to how many
    /// refusals were only counted; limits on their number begin anew.
    pub fn turn(&self) -> oneshot::Receiver<u64> {
        let (sender, receiver) = oneshot::channel();
        let _ = self.wishes.send(Wish::Turn(sender));
        receiver
    }

    /// Drops the output and waits for the end.
    ///
    /// `None` only if the engine itself went away without a word.
    pub async fn wait(mut self) -> Option<Outcome> {
        self.stdin = None;
        while let Some(event) = self.next().await {
            if let Event::Exited(outcome) = event {
                return Some(*outcome);
            }
        }
        None
    }
}

/// Tells a terminal its size.
pub fn resize(terminal: &impl std::os::fd::AsFd, size: WindowSize) -> io::Result<()> {
    let size =
        rustix::termios::Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(terminal, size)?)
}
