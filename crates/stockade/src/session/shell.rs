//! One shell and its conversation with us.

use super::SessionError;
use super::channel::Channel;
use super::directory::RunDirectory;
use super::driver::{self, Said};
use super::tender::{Ear, Tender};
use crate::asking::Desk;
use rustix::fs::OFlags;
use rustix::process::Pid;
use std::io;
use std::os::fd::OwnedFd;
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
    /// The turn that waits for its order.
    turn: Option<Turn>,
}

/// The pipes of one command.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) name: String,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
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
        let mut shell = Self { channel, tender, pid, inner_pid, turn: None };
        shell.arm(directory)?;
        Ok(shell)
    }

    /// Has the shell open the pipes of its next command.
    pub(super) fn arm(&mut self, directory: &RunDirectory) -> Result<(), SessionError> {
        let name = directory.fresh_name();
        let open = |number: u8| receiver(directory.pipe(&format!("{name}.{number}"), OFlags::RDONLY)?);
        let turn = Turn { stdout: open(1)?, stderr: open(2)?, name };
        let failed = |source| SessionError::Pipes { act: "send the next turn", source };
        self.channel.say(&driver::turn(&turn.name)).map_err(failed)?;
        self.turn = Some(turn);
        Ok(())
    }

    /// The pipes of the command that is given now.
    pub(super) fn take_turn(&mut self) -> Option<Turn> {
        self.turn.take()
    }
}

fn receiver(pipe: OwnedFd) -> Result<pipe::Receiver, SessionError> {
    let watched = |source: io::Error| SessionError::Pipes { act: "watch a pipe", source };
    pipe::Receiver::from_owned_fd(pipe).map_err(watched)
}
