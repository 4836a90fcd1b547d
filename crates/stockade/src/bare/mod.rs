//! Running without walls, where the settings say so: a plain process, watched like any other run.

mod openings;
mod supervise;

pub use openings::OpeningError;
pub(crate) use openings::{directory, open};

use crate::relay;
use rustix::process::{Pid, PidfdFlags};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{self, Child};
use std::time::{Duration, Instant};
use stockade_isolate::{ExecError, Stdio, inherit};
use stockade_policy::{Enforcement, Event};
use supervise::Supervisor;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

/// Enough for a burst; a slow reader then slows the command down, as a pipe would.
const EVENTS: usize = 64;

/// What to run.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) argv: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    /// The directory itself, where it was judged: something else may have its name by now.
    pub(crate) directory: Option<OwnedFd>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) stdio: [Stdio; 3],
    pub(crate) time_limit: Option<Duration>,
    pub(crate) output_limit: Option<u64>,
    pub(crate) enforcement: Enforcement,
    /// Files that the command opens by their numbers, which are the same there.
    pub(crate) opened: Vec<OwnedFd>,
}

/// A plain process. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Bare {
    events: mpsc::Receiver<Event>,
    wishes: mpsc::UnboundedSender<Wish>,
    stdin: Option<pipe::Sender>,
}

#[derive(Clone, Copy, Debug)]
enum Wish {
    Signal(i32),
    Cancel(i32),
}

impl Bare {
    /// Starts it.
    pub(crate) fn start(start: Start) -> Result<Self, ExecError> {
        let begun = Instant::now();
        let Some((program, arguments)) = start.argv.split_first() else {
            return Err(step("start a program")(io::Error::from(io::ErrorKind::InvalidInput)));
        };
        // A command that shares the caller's terminal must stay in the terminal's foreground group;
        // any other one gets a group of its own, so that its children can be signalled with it.
        let own_group = !start.stdio.iter().any(is_terminal);
        let mut command = process::Command::new(program);
        let directory =
            start.directory.as_ref().map(|opened| format!("/proc/self/fd/{}", opened.as_raw_fd()));
        let directory = directory.map_or(start.cwd.clone(), PathBuf::from);
        command.args(arguments).current_dir(&directory).env_clear().envs(start.environment);
        if own_group {
            command.process_group(0);
        }
        inherit(&mut command, start.opened);
        let [input, output, error] = start.stdio.map(convert);
        command.stdin(input?).stdout(output?).stderr(error?);
        let mut child = command.spawn().map_err(|source| match source.kind() {
            _ if !directory.is_dir() => ExecError::Directory { path: start.cwd.clone(), source },
            _ => ExecError::Program { program: program.into(), source },
        })?;
        let watch = step("watch the command");
        let stdin = child.stdin.take().map(|end| pipe::Sender::from_owned_fd(end.into()));
        let outputs = outputs(&mut child).map_err(&watch)?;
        let (tell, events) = mpsc::channel(EVENTS);
        let (wishes, wished) = mpsc::unbounded_channel();
        let supervisor = Supervisor {
            group: own_group,
            tell,
            wished,
            deadline: start.time_limit.map(|limit| begun + limit),
            remaining: start.output_limit,
            limit: start.output_limit,
            truncated: false,
            begun,
            enforcement: start.enforcement,
        };
        let stdin = stdin.transpose().map_err(&watch)?;
        let end = end_of(&child).map_err(&watch)?;
        tokio::spawn(supervisor.run(child, end, outputs));
        Ok(Self { events, wishes, stdin })
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The writing end of a piped input.
    pub(crate) fn stdin(&mut self) -> Option<pipe::Sender> {
        self.stdin.take()
    }

    /// Signals the command.
    pub(crate) fn signal(&self, signal: i32) {
        // A closed channel means the command is over.
        let _ = self.wishes.send(Wish::Signal(signal));
    }

    /// Ends the command.
    pub(crate) fn cancel(&self, signal: i32) {
        let _ = self.wishes.send(Wish::Cancel(signal));
    }
}

fn step(act: &'static str) -> impl Fn(io::Error) -> ExecError {
    move |source| ExecError::Step { act, source }
}

fn is_terminal(stdio: &Stdio) -> bool {
    matches!(stdio, Stdio::Descriptor(descriptor) if rustix::termios::isatty(descriptor))
}

fn convert(stdio: Stdio) -> Result<process::Stdio, ExecError> {
    match stdio {
        Stdio::Null => Ok(process::Stdio::null()),
        Stdio::Piped => Ok(process::Stdio::piped()),
        Stdio::Descriptor(descriptor) => Ok(descriptor.into()),
        Stdio::Terminal(_) => Err(step("open a private terminal")(io::Error::new(
            io::ErrorKind::Unsupported,
            "a run without walls has none",
        ))),
    }
}

fn end_of(child: &Child) -> io::Result<AsyncFd<OwnedFd>> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let end = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    relay::watch(end).map_err(|(_, error)| error)
}

fn outputs(child: &mut Child) -> io::Result<[Option<pipe::Receiver>; 2]> {
    let output: Option<OwnedFd> = child.stdout.take().map(Into::into);
    let error: Option<OwnedFd> = child.stderr.take().map(Into::into);
    Ok([
        output.map(pipe::Receiver::from_owned_fd).transpose()?,
        error.map(pipe::Receiver::from_owned_fd).transpose()?,
    ])
}
