//! One shell and its conversation with us.

use super::SessionError;
use super::channel::Channel;
use super::directory::RunDirectory;
use super::driver::{self, Said};
use super::output::Output;
use super::processes::input_of;
use super::tender::{Ear, Tender};
use crate::asking::Desk;
use rustix::fs::OFlags;
use rustix::process::Pid;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use stockade_isolate::Running;
use tokio::net::unix::pipe;

/// How long a shell has to say the first word.
const PATIENCE: Duration = Duration::from_secs(10);

/// A shell that waits for commands.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) channel: Channel,
    pub(super) tender: Tender,
    /// As this process numbers it.
    pub(super) pid: Pid,
    /// As the sandbox does.
    pub(super) inner_pid: u32,
    /// What it reads orders from, as the kernel names it.
    orders: Option<PathBuf>,
    /// The name of the turn that is over.
    pub(super) last_turn: String,
    /// What the turn opens that waits for its order.
    waiting: Option<Pipes>,
    /// What the command before printed to.
    resting: Option<Output>,
}

/// Where a command's output comes from.
#[derive(Debug)]
pub(super) struct Pipes {
    /// Their name in the directory.
    pub(super) name: String,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
}

impl Pipes {
    fn make(directory: &RunDirectory) -> Result<Self, SessionError> {
        let name = directory.fresh_name();
        let open = |number: u8| {
            let name = format!("{name}.{number}");
            drop(directory.pipe(&name, OFlags::RDONLY)?);
            watch(directory.open_alone(&name)?)
        };
        Ok(Self { stdout: open(1)?, stderr: open(2)?, name })
    }

    /// The same pipes for the next command. To be called when they are at their end: nobody has them open.
    fn again(self, directory: &RunDirectory) -> Result<Self, SessionError> {
        // Opened anew: what saw the end of the last writers would take it for the end of the next ones.
        let open = |number: u8| watch(directory.open_alone_again(&format!("{}.{number}", self.name))?);
        Ok(Self { stdout: open(1)?, stderr: open(2)?, name: self.name })
    }

    /// Removes their names. Whoever has them open goes on.
    pub(super) fn remove(name: &str, directory: &RunDirectory) {
        for number in 1..=2 {
            directory.remove(&format!("{name}.{number}"));
        }
    }
}

impl Shell {
    /// Tells a shell that was just started how it will be spoken to, and waits for its first word.
    pub(super) async fn greet(
        mut channel: Channel,
        running: Running,
        directory: &RunDirectory,
        prelude: Vec<u8>,
        desk: Option<Arc<Desk>>,
        ear: &Arc<Ear>,
    ) -> Result<Self, SessionError> {
        let mute = || SessionError::Mute { shell: crate::shell::program().into() };
        let inner_pid = running.pid();
        let tender = Tender::begin(running, desk, Arc::clone(ear));
        channel.say(&prelude).map_err(|_| mute())?;
        let first = tokio::time::timeout(PATIENCE, channel.next()).await.ok().flatten();
        if first.as_deref().and_then(Said::read) != Some(Said::Hello) {
            return Err(mute());
        }
        let pid = channel.shell().ok_or_else(mute)?;
        let (orders, last_turn) = (input_of(pid), String::new());
        let mut shell =
            Self { channel, tender, pid, inner_pid, orders, last_turn, waiting: None, resting: None };
        let first = shell.next_pipes(directory)?;
        shell.begin_turn(first, None);
        Ok(shell)
    }

    /// Whether no text is being run: those have another standard input.
    pub(super) fn waits(&self) -> bool {
        self.orders.is_some() && input_of(self.pid) == self.orders
    }

    /// The pipes of the command that is given now.
    pub(super) fn take_turn(&mut self) -> Option<Pipes> {
        self.waiting.take()
    }

    /// The pipes of the command after this one: those of the one before, or new ones.
    pub(super) fn next_pipes(&mut self, directory: &RunDirectory) -> Result<Pipes, SessionError> {
        match self.reclaim(directory) {
            Some(last) => last.again(directory),
            None => Pipes::make(directory),
        }
    }

    /// Has the shell open the next command's pipes, and wait for it. What the last one printed to may still be
    /// open.
    pub(super) fn begin_turn(&mut self, next: Pipes, last: Option<Output>) {
        // A shell that does not take it has ended, which shows when it is given an order.
        let _ = self.channel.say(&driver::turn(&next.name));
        (self.waiting, self.resting) = (Some(next), last);
    }

    /// Gives the pipes of the command before up where somebody still has them open. The shell itself has, for a
    /// moment after the end.
    pub(super) fn let_go(&mut self, directory: &RunDirectory) {
        if self.resting.as_mut().is_some_and(|last| !last.is_left()) {
            self.reclaim(directory);
        }
    }

    fn reclaim(&mut self, directory: &RunDirectory) -> Option<Pipes> {
        self.resting.take()?.give_back(directory)
    }
}

fn watch(pipe: OwnedFd) -> Result<pipe::Receiver, SessionError> {
    let watched = |source: io::Error| SessionError::Pipes { act: "watch a pipe", source };
    pipe::Receiver::from_owned_fd(pipe).map_err(watched)
}
