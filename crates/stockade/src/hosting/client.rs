//! The client's side of a hosted session.

use super::message::{Ask, Hello, PROTOCOL, Then, Told, Words};
use super::wire::Wire;
use super::{AttachWish, BackgroundSaid, HostError, SessionName, SessionPlace, SessionStatus};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use stockade_isolate::WindowSize;
use stockade_policy::{CommandLine, Event};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

/// How long a host may take to say hello. One that lives does so at once, whatever it is asked for then.
const HELLO: Duration = Duration::from_secs(5);
/// How long a host may take to answer what it knows at once.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a host may take to close its session.
const FAREWELL: Duration = Duration::from_secs(10);

/// A connection to a hosted session.
#[derive(Debug)]
pub struct SessionClient {
    name: SessionName,
    wire: Wire,
}

/// How a session was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// By itself, because it was asked to.
    Cleanly,
    /// Its host did not answer and was killed, and everything inside with it.
    Killed,
}

/// A command in a hosted session. Dropping it ends the command.
#[derive(Debug)]
pub struct RemoteRun {
    client: SessionClient,
    terminal: Option<OwnedFd>,
    over: bool,
}

/// A connection to a session's terminal. Dropping it leaves the terminal to itself.
#[derive(Debug)]
pub struct Attachment {
    client: SessionClient,
    terminal: OwnedFd,
    shown: Vec<u8>,
}

/// Why an attachment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// The terminal's shell ended with this status.
    Left(i32),
    /// Somebody else has the terminal now.
    Detached,
}

impl SessionClient {
    /// Connects to a session that lives.
    pub async fn connect(place: &SessionPlace, name: &SessionName) -> Result<Self, HostError> {
        let (_directory, path) = place.way(name)?;
        let until = Instant::now() + HELLO;
        let stream = loop {
            match UnixStream::connect(&path).await {
                Ok(stream) => break stream,
                // More are waiting than it has room for.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() > until {
                        return Err(HostError::Silent { name: name.to_string(), pid: None });
                    }
                    sleep(Duration::from_millis(20)).await;
                }
                // What a dead host left.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    return Err(HostError::Unknown { name: name.to_string() });
                }
                Err(source) => return Err(HostError::Talk { name: name.to_string(), source }),
            }
        };
        let talk = |source| HostError::Talk { name: name.to_string(), source };
        Ok(Self { name: name.clone(), wire: Wire::trusted(stream).map_err(talk)? })
    }

    /// The session's name.
    pub fn name(&self) -> &SessionName {
        &self.name
    }

    /// How the session is.
    pub async fn status(mut self) -> Result<SessionStatus, HostError> {
        match self.ask(&Ask::Status, &[]).await? {
            Told::Status(status) => Ok(status),
            other => Err(self.confused(&other)),
        }
    }

    /// Ends the session. A host that does not answer is killed, which ends everything inside, too.
    pub async fn close(mut self) -> Result<Closed, HostError> {
        let host = self.wire.peer().and_then(|pid| Some((pid, Pid::from_raw(pid.try_into().ok()?)?)));
        let (pid, host) = host.ok_or_else(|| self.silent())?;
        let host = match pidfd_open(host, PidfdFlags::empty()) {
            Ok(host) => host,
            // It went by itself.
            Err(rustix::io::Errno::SRCH) => return Ok(Closed::Cleanly),
            Err(error) => return Err(self.talk(error.into())),
        };
        let asked = self.ask(&Ask::Close, &[]).await;
        if asked.is_ok() && gone(&host, FAREWELL).await {
            return Ok(Closed::Cleanly);
        }
        // A host that stopped, or a later version's: the socket says who it is.
        let killed = pidfd_send_signal(&host, Signal::KILL);
        if !gone(&host, FAREWELL).await {
            killed.map_err(|error| self.talk(error.into()))?;
            return Err(HostError::Stuck { name: self.name.to_string(), pid });
        }
        Ok(if asked.is_ok() || killed.is_ok() { Closed::Killed } else { Closed::Cleanly })
    }

    /// Runs a command: text in the session's shell, words beside it. Descriptors that are terminals become a
    /// private one where a size is given.
    pub async fn run(
        mut self,
        command: &CommandLine,
        time_limit: Option<Duration>,
        terminal: Option<WindowSize>,
        descriptors: [BorrowedFd<'_>; 3],
    ) -> Result<RemoteRun, HostError> {
        let time_limit_ms = time_limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        let ask =
            Ask::Run { command: Words::from(command), time_limit_ms, terminal: terminal.map(Into::into) };
        self.hello().await?;
        self.wire.say(&ask, &descriptors).await.map_err(|source| self.talk(source))?;
        Ok(RemoteRun { client: self, terminal: None, over: false })
    }

    /// Begins a command that goes on without us, and tells its number and what there is to know about it.
    pub async fn background(mut self, command: &CommandLine) -> Result<(u64, Vec<Event>), HostError> {
        match self.ask(&Ask::Background { command: Words::from(command) }, &[]).await? {
            Told::Begun { id, events } => Ok((id, events)),
            other => Err(self.confused(&other)),
        }
    }

    /// What a background command printed from there on. Waits until there is something, or its end.
    pub async fn output(mut self, id: u64, from: u64) -> Result<BackgroundSaid, HostError> {
        self.hello().await?;
        self.wire.say(&Ask::Output { id, from }, &[]).await.map_err(|source| self.talk(source))?;
        match self.heard().await? {
            Told::Output(said) => Ok(said),
            other => Err(self.confused(&other)),
        }
    }

    /// Ends a background command.
    pub async fn stop(mut self, id: u64) -> Result<(), HostError> {
        match self.ask(&Ask::Stop { id }, &[]).await? {
            Told::Done => Ok(()),
            other => Err(self.confused(&other)),
        }
    }

    /// Connects to the session's terminal, which is made where there is none.
    pub async fn attach(mut self, size: WindowSize, wish: AttachWish) -> Result<Attachment, HostError> {
        match self.ask(&Ask::Attach { size: size.into(), wish }, &[]).await? {
            Told::Attached { shown } => {
                let [terminal] = self.wire.take().map_err(|source| self.talk(source))?;
                Ok(Attachment { client: self, terminal, shown: shown.into() })
            }
            other => Err(self.confused(&other)),
        }
    }

    async fn hello(&mut self) -> Result<(), HostError> {
        self.wire.say(&Hello::ours(), &[]).await.map_err(|source| self.talk(source))?;
        match timeout(HELLO, self.wire.next::<Hello>()).await {
            Err(_) => Err(self.silent()),
            Ok(Ok(Some(hello))) if hello.stockade == PROTOCOL => Ok(()),
            Ok(Ok(Some(hello))) => {
                Err(HostError::Version { name: self.name.to_string(), version: hello.version })
            }
            Ok(Ok(None)) => Err(self.ended()),
            Ok(Err(source)) => Err(self.talk(source)),
        }
    }

    /// Asks something that is answered at once.
    async fn ask(&mut self, ask: &Ask, with: &[BorrowedFd<'_>]) -> Result<Told, HostError> {
        self.hello().await?;
        self.wire.say(ask, with).await.map_err(|source| self.talk(source))?;
        timeout(PATIENCE, self.heard()).await.unwrap_or_else(|_| Err(self.silent()))
    }

    async fn heard(&mut self) -> Result<Told, HostError> {
        match self.wire.next::<Told>().await {
            Ok(Some(Told::Refused { reason })) => Err(HostError::Refused { reason }),
            Ok(Some(told)) => Ok(told),
            Ok(None) => Err(self.ended()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Err(self.ended()),
            Err(source) => Err(self.talk(source)),
        }
    }

    fn talk(&self, source: io::Error) -> HostError {
        HostError::Talk { name: self.name.to_string(), source }
    }

    fn silent(&self) -> HostError {
        HostError::Silent { name: self.name.to_string(), pid: self.wire.peer() }
    }

    fn ended(&self) -> HostError {
        HostError::Ended { name: self.name.to_string() }
    }

    fn confused(&self, told: &Told) -> HostError {
        self.talk(io::Error::other(format!("it said {told:?}")))
    }
}

impl RemoteRun {
    /// What happens; `None` after [`Event::Exited`]. May be dropped and called again.
    pub async fn next(&mut self) -> Result<Option<Event>, HostError> {
        if self.over {
            return Ok(None);
        }
        match self.client.heard().await? {
            Told::Event { event } => {
                self.over = matches!(*event, Event::Exited(_));
                Ok(Some(*event))
            }
            Told::Attached { .. } => {
                let [terminal] = self.client.wire.take().map_err(|source| self.client.talk(source))?;
                self.terminal = Some(terminal);
                Ok(Some(Event::Started { sandbox: self.client.name.to_string(), pid: 0 }))
            }
            other => Err(self.client.confused(&other)),
        }
    }

    /// The outer end of the command's terminal, once it has started.
    pub fn terminal(&mut self) -> Option<OwnedFd> {
        self.terminal.take()
    }

    /// Ends the command: this signal first, SIGKILL later.
    pub async fn cancel(&self, signal: i32) -> Result<(), HostError> {
        let said = self.client.wire.say(&Then::Cancel { signal }, &[]).await;
        said.map_err(|source| self.client.talk(source))
    }
}

impl Attachment {
    /// The outer end of the terminal.
    pub fn terminal(&self) -> BorrowedFd<'_> {
        self.terminal.as_fd()
    }

    /// What it showed before we came.
    pub fn shown(&self) -> &[u8] {
        &self.shown
    }

    /// Waits for the end of it. May be dropped and called again.
    pub async fn parting(&mut self) -> Result<Parting, HostError> {
        match self.client.heard().await? {
            Told::Left { status } => Ok(Parting::Left(status)),
            Told::Detached => Ok(Parting::Detached),
            other => Err(self.client.confused(&other)),
        }
    }
}

/// Whether a process ends in that time.
async fn gone(process: &OwnedFd, patience: Duration) -> bool {
    let watched = process.try_clone().and_then(stockade_isolate::watch);
    match watched {
        Ok(watched) => timeout(patience, watched.readable()).await.is_ok(),
        Err(_) => false,
    }
}
