//! One command of a client: its bytes, its signals, its end.
//!
//! The client's descriptors stay here. Text for the session's shell gets its bytes through the session's pipes;
//! words get those descriptors that may cross the wall, as `run` has it, and pipes for the others.

use super::message::{Bytes, Then, Told};
use super::serve::refused;
use super::wire::Wire;
use crate::relay::{Feed, Inlet, Outlet, Rest, copy};
use crate::{
    CrossError, Running, Session, SessionCommand, SessionError, SessionInput, SessionRun, StartError, Wiring,
};
use rustix::fs::{FileType, Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;
use stockade_isolate::{Stdio, WindowSize};
use stockade_policy::{CommandLine, Event, Exit};
use tokio::task::JoinHandle;
use tokio::time::Instant;

const SIGHUP: i32 = 1;
const SIGKILL: i32 = 9;
const SIGPIPE: i32 = 13;
/// How long bytes of a command whose time is up may take to reach their reader. Its processes may have had two
/// seconds to end by themselves.
const LAST_BYTES: Duration = Duration::from_secs(3);
const CANCELLED: &str = "the command was cancelled before it began";
/// No signal has a larger number.
const LAST_SIGNAL: i32 = 64;

/// What a client wants to have run.
pub(super) struct Wanted {
    pub(super) command: CommandLine,
    pub(super) time_limit: Option<Duration>,
    /// Descriptors that are terminals become one of this size.
    pub(super) terminal: Option<WindowSize>,
}

/// Runs a command for a client. Whatever happens to the client, the command has ended after that.
pub(super) async fn run(wire: &mut Wire, wanted: Wanted, session: &Session) -> io::Result<()> {
    let descriptors = wire.take::<3>()?;
    let waits = matches!(wanted.command, CommandLine::Shell(_));
    if !waits {
        // A program waits for nothing but the end of a command without walls, and has not begun until then.
        tokio::select! {
            biased;
            () = session.until_nobody_is_without_walls() => {}
            _ = wire.next::<Then>() => return wire.say(&refused(CANCELLED), &[]).await,
        }
    }
    let mut gone = false;
    let mut early = None;
    let mut starting = std::pin::pin!(Job::start(wanted, descriptors, session));
    let started = loop {
        tokio::select! {
            biased;
            started = &mut starting => break started,
            said = wire.next::<Then>(), if early.is_none() => {
                gone = !matches!(said, Ok(Some(_)));
                // Text that waits for the commands before it has not begun. A program may have.
                if waits {
                    return wire.say(&refused(CANCELLED), &[]).await;
                }
                early = Some(said.ok().flatten().map_or(SIGHUP, |Then::Cancel { signal }| signal));
            }
        }
    };
    let mut job = match started {
        Ok(job) => job,
        Err(error) => return wire.say(&refused(error), &[]).await,
    };
    if let Some(terminal) = job.terminal.take() {
        let shown = Bytes::Text(String::new());
        gone |= wire.say(&Told::Attached { shown }, &[terminal.as_fd()]).await.is_err();
    }
    if gone || early.is_some() {
        job.cancel(early.filter(|signal| (1..=LAST_SIGNAL).contains(signal)).unwrap_or(SIGHUP));
    }
    loop {
        tokio::select! {
            biased;
            said = wire.next::<Then>(), if !gone => match said {
                Ok(Some(Then::Cancel { signal: signal @ 1..=LAST_SIGNAL })) => job.cancel(signal),
                Ok(Some(Then::Cancel { .. })) => {}
                Ok(None) | Err(_) => {
                    gone = true;
                    job.nobody_reads();
                    job.cancel(SIGHUP);
                }
            },
            () = until(job.deadline) => {
                job.deadline = None;
                job.timed_out = true;
                job.cancel(SIGKILL);
            }
            () = until(job.overdue) => {
                job.overdue = None;
                job.nobody_reads();
            }
            event = job.next() => {
                let Some(event) = event else {
                    return wire.say(&refused(SessionError::Lost), &[]).await;
                };
                let event = shown(event, session);
                let over = matches!(event, Event::Exited(_));
                if gone {
                    session.owe(event);
                } else if wire.say(&Told::Event { event: Box::new(event.clone()) }, &[]).await.is_err() {
                    session.owe(event);
                    gone = true;
                    job.nobody_reads();
                    job.cancel(SIGHUP);
                }
                if over {
                    return Ok(());
                }
            }
        }
    }
}

/// The client shows what was refused, but for what the settings hide.
fn shown(mut event: Event, session: &Session) -> Event {
    if let Event::Exited(outcome) = &mut event {
        let runtime = session.runtime();
        outcome.violations.retain(|violation| !runtime.ignored().hides(violation));
    }
    event
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// A command that runs.
struct Job {
    source: Source,
    terminal: Option<OwnedFd>,
    outlets: [Option<Outlet>; 2],
    /// Bytes that their outlet has not taken yet: which outlet, the bytes, how many are gone.
    pending: Option<(usize, Vec<u8>, usize)>,
    input: Option<JoinHandle<()>>,
    rest: Option<Rest>,
    deadline: Option<Instant>,
    /// When no reader of its output is waited for any more.
    overdue: Option<Instant>,
    timed_out: bool,
}

enum Source {
    /// In the session's shell.
    Shell(SessionRun),
    /// Beside it.
    Beside(Box<Running>),
}

impl Job {
    async fn start(
        wanted: Wanted,
        descriptors: [OwnedFd; 3],
        session: &Session,
    ) -> Result<Self, SessionError> {
        match wanted.command {
            CommandLine::Shell(text) => {
                let [input, output, error] = descriptors;
                let outlets = [outlet(output)?, outlet(error)?];
                let kind = rustix::fs::fstat(&input).map(|seen| FileType::from_raw_mode(seen.st_mode));
                if kind == Ok(FileType::Directory) {
                    let refused = CrossError::Refused { number: 0, what: "is a directory" };
                    return Err(StartError::from(refused).into());
                }
                let null = is_null(&input);
                let mut command = SessionCommand::new(text);
                if !null {
                    command = command.input(SessionInput::Piped);
                }
                if let Some(limit) = wanted.time_limit {
                    command = command.time_limit(limit);
                }
                let mut run = session.start(command).await?;
                let (task, rest) = match run.stdin() {
                    Some(pipe) if !null => {
                        let pipe = pipe.into_nonblocking_fd().map_err(unwatched)?;
                        feed(input, pipe).map_err(unwatched)?
                    }
                    _ => (None, None),
                };
                let mut job = Self::new(Source::Shell(run), None, wanted.time_limit);
                // The session keeps the time of its shell's commands.
                job.deadline = None;
                (job.outlets, job.input, job.rest) = (outlets, task, rest);
                Ok(job)
            }
            CommandLine::Argv(words) => {
                let wiring = wiring(descriptors, wanted.terminal);
                let mut running = session.exec_argv(words, wiring).await?;
                let terminal = running.terminal();
                Ok(Self::new(Source::Beside(Box::new(running)), terminal, wanted.time_limit))
            }
        }
    }

    fn new(source: Source, terminal: Option<OwnedFd>, limit: Option<Duration>) -> Self {
        Self {
            source,
            terminal,
            outlets: [None, None],
            pending: None,
            input: None,
            rest: None,
            deadline: limit.map(|limit| Instant::now() + limit),
            overdue: limit.map(|limit| Instant::now() + limit + LAST_BYTES),
            timed_out: false,
        }
    }

    /// What happens next, but for output. May be dropped and called again without losing anything.
    async fn next(&mut self) -> Option<Event> {
        loop {
            self.pass_on().await;
            let event = match &mut self.source {
                Source::Shell(run) => run.next().await,
                Source::Beside(running) => running.next().await,
            };
            match event {
                Some(Event::Stdout { data }) => self.pending = Some((0, data, 0)),
                Some(Event::Stderr { data }) => self.pending = Some((1, data, 0)),
                Some(Event::Exited(mut outcome)) => {
                    self.give_back().await;
                    if self.timed_out && outcome.exit == (Exit::Cancelled { signal: SIGKILL }) {
                        outcome.exit = Exit::TimedOut;
                        outcome.exit_code = Exit::TimedOut.status();
                    }
                    return Some(Event::Exited(outcome));
                }
                other => return other,
            }
        }
    }

    async fn pass_on(&mut self) {
        while let Some((stream, data, gone)) = &mut self.pending {
            let Some(outlet) = &mut self.outlets[*stream] else { break };
            match outlet.write(&data[*gone..]).await {
                Ok(count) => *gone += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.outlets[*stream] = None;
                    // Without us the command itself would have been told that nobody reads any more.
                    if error.kind() == io::ErrorKind::BrokenPipe {
                        self.cancel(SIGPIPE);
                    }
                    break;
                }
            }
            if *gone >= data.len() {
                break;
            }
        }
        self.pending = None;
    }

    /// What the command did not read is left to whoever reads next.
    async fn give_back(&mut self) {
        if let Some(input) = self.input.take() {
            input.abort();
            // Cancelled or ended, it no longer writes.
            let _ = input.await;
        }
        if let Some(rest) = self.rest.take() {
            rest.give_back();
        }
    }

    /// A client that is gone reads nothing, and one that has not read until the time was up may not; its command
    /// must not wait for it.
    fn nobody_reads(&mut self) {
        self.outlets = [None, None];
        self.pending = None;
        if let Source::Beside(running) = &mut self.source {
            running.nobody_reads();
        }
    }

    fn cancel(&self, signal: i32) {
        match &self.source {
            Source::Shell(run) => run.cancel(signal),
            Source::Beside(running) => running.cancel(signal),
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Some(input) = &self.input {
            input.abort();
        }
    }
}

/// What was typed ahead, a file, a pipe: whatever the client's input is.
fn feed(input: OwnedFd, to: OwnedFd) -> io::Result<(Option<JoinHandle<()>>, Option<Rest>)> {
    // A look into the pipe from the other end, to know how much of a file was left unread.
    let again = format!("/proc/self/fd/{}", to.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let is_file = FileType::from_raw_mode(rustix::fs::fstat(&input)?.st_mode) == FileType::RegularFile;
    let (input, to) = match is_file.then(|| rustix::fs::open(again, flags, Mode::empty())) {
        Some(Ok(pipe)) => match Feed::new(input, to, &pipe) {
            Ok((feed, rest)) => return Ok((Some(tokio::spawn(feed.run())), Some(rest))),
            Err(both) => both,
        },
        _ => (input, to),
    };
    let (from, to) = (Inlet::new(input)?, Outlet::unshared(to)?);
    Ok((Some(tokio::spawn(copy(from, to))), None))
}

/// What the words of a client are connected to.
fn wiring(descriptors: [OwnedFd; 3], terminal: Option<WindowSize>) -> Wiring {
    let [input, output, error] = descriptors;
    let mut wiring = Wiring::descriptors(input, output, error);
    if let Some(size) = terminal {
        for stdio in &mut wiring.stdio {
            if matches!(stdio, Stdio::Descriptor(descriptor) if rustix::termios::isatty(&*descriptor)) {
                *stdio = Stdio::Terminal(size);
            }
        }
    }
    wiring
}

fn outlet(descriptor: OwnedFd) -> Result<Option<Outlet>, SessionError> {
    Ok(Some(Outlet::new(descriptor).map_err(unwatched)?))
}

fn unwatched(source: io::Error) -> SessionError {
    SessionError::Pipes { act: "use the client's descriptors", source }
}

fn is_null(descriptor: &OwnedFd) -> bool {
    rustix::fs::fstat(descriptor).is_ok_and(|seen| {
        FileType::from_raw_mode(seen.st_mode) == FileType::CharacterDevice
            && (rustix::fs::major(seen.st_rdev), rustix::fs::minor(seen.st_rdev)) == (1, 3)
    })
}
