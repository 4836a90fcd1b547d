//! What a command prints, on its way to its caller.

use super::directory::RunDirectory;
use super::processes::has_open;
use super::shell::Pipes;
use rustix::fs::fstat;
use rustix::process::Pid;
use std::io;
use stockade_policy::Event;
use tokio::net::unix::pipe;

/// Bytes taken at once.
const CHUNK: usize = 64 * 1024;
/// The same of a stream that has not had as many yet: most commands print little.
const SMALL_CHUNK: usize = 4 * 1024;
/// What may still lie in a pipe when its command is over; who writes more then is somebody else.
const MOST_REST: usize = 1024 * 1024;

/// The reading ends of both streams.
#[derive(Debug)]
pub(super) struct Output {
    /// Their name in the directory.
    name: String,
    streams: [Stream; 2],
    buffer: Vec<u8>,
    /// Bytes that may still be passed on; `None` without a limit.
    left: Option<u64>,
    limit: u64,
    truncated: bool,
    rest: usize,
}

#[derive(Debug)]
struct Stream {
    pipe: pipe::Receiver,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Nobody has it open for writing.
    AtEnd,
}

impl Output {
    pub(super) fn new(pipes: Pipes, limit: Option<u64>) -> Self {
        let Pipes { name, stdout, stderr } = pipes;
        Self {
            name,
            streams: [stdout, stderr].map(|pipe| Stream { pipe, state: State::Open }),
            buffer: Vec::new(),
            left: limit,
            limit: limit.unwrap_or(u64::MAX),
            truncated: false,
            rest: 0,
        }
    }

    /// Whether somebody had them open, and nobody has any more.
    pub(super) fn was_left(&self) -> bool {
        self.streams
            .iter()
            .all(|stream| stream.state == State::AtEnd || stockade_isolate::hung_up(&stream.pipe))
    }

    /// Whether a process has them open.
    pub(super) fn is_held_by(&self, process: Pid) -> bool {
        let holds = |stream: &Stream| fstat(&stream.pipe).is_ok_and(|pipe| has_open(process, &pipe));
        self.streams.iter().any(holds)
    }

    /// Whether something was cut off.
    pub(super) fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Waits until there is something. May be dropped and called again.
    pub(super) async fn readable(&self) {
        let [stdout, stderr] = &self.streams;
        tokio::select! {
            () = stdout.ready() => {}
            () = stderr.ready() => {}
        }
    }

    /// One piece of each stream that has one.
    pub(super) fn take(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for stream in 0..2 {
            self.read(stream, &mut events, |stream, buffer| stream.try_read(buffer));
        }
        events
    }

    /// What was printed before the command ended, piece by piece; nothing when that was all.
    pub(super) fn take_rest(&mut self) -> Option<Vec<Event>> {
        let mut events = Vec::new();
        let mut count = 0;
        for stream in 0..2 {
            // Asked of the kernel: what it has not told anybody yet counts, too.
            count += self.read(stream, &mut events, |stream, buffer| Ok(rustix::io::read(stream, buffer)?));
        }
        self.rest += count;
        (count > 0 && self.rest <= MOST_REST).then_some(events)
    }

    /// The pipes for the next command where nobody has them open any more.
    ///
    /// Otherwise their names are removed, and what processes that go on print is read and dropped: a server
    /// that nobody listens to must not be ended by the first line it logs.
    pub(super) fn give_back(mut self, directory: &RunDirectory) -> Option<Pipes> {
        let left = self.is_left();
        let Self { name, streams: [stdout, stderr], .. } = self;
        if left {
            return Some(Pipes { name, stdout: stdout.pipe, stderr: stderr.pipe });
        }
        Pipes::remove(&name, directory);
        for stream in [stdout, stderr].into_iter().filter(|stream| stream.state == State::Open) {
            tokio::spawn(stream.drop_all());
        }
        None
    }

    /// Whether nobody has them open any more. What is in them is dropped.
    pub(super) fn is_left(&mut self) -> bool {
        self.left = Some(0);
        while self.take_rest().is_some() {}
        self.streams.iter().all(|stream| stream.state == State::AtEnd)
    }

    /// Reads one piece. Returns how many bytes there were.
    fn read(
        &mut self,
        stream: usize,
        events: &mut Vec<Event>,
        take: impl Fn(&pipe::Receiver, &mut [u8]) -> io::Result<usize>,
    ) -> usize {
        let from = &mut self.streams[stream];
        if from.state == State::AtEnd {
            return 0;
        }
        if self.buffer.is_empty() {
            self.buffer.resize(SMALL_CHUNK, 0);
        }
        let length = match take(&from.pipe, &mut self.buffer) {
            Ok(0) => {
                from.state = State::AtEnd;
                return 0;
            }
            Ok(length) => length,
            // What is wrong with it, should something be, shows in the next look.
            Err(_) => return 0,
        };
        let fits = self.left.map_or(length, |left| usize::try_from(left).unwrap_or(usize::MAX).min(length));
        if fits > 0 {
            let data = self.buffer[..fits].to_vec();
            events.push(if stream == 0 { Event::Stdout { data } } else { Event::Stderr { data } });
        }
        if let Some(left) = &mut self.left {
            *left -= fits as u64;
        }
        if length == self.buffer.len() {
            self.buffer.resize(CHUNK, 0);
        }
        if fits < length && !self.truncated {
            self.truncated = true;
            events.push(Event::Truncated { limit: self.limit });
        }
        length
    }
}

impl Stream {
    /// Waits until there is something.
    async fn ready(&self) {
        match self.state {
            // An error shows when it is read.
            State::Open => drop(self.pipe.readable().await),
            State::AtEnd => std::future::pending().await,
        }
    }

    async fn drop_all(self) {
        let mut nothing = vec![0; CHUNK];
        while self.pipe.readable().await.is_ok() {
            match self.pipe.try_read(&mut nothing) {
                Ok(0) => return,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                _ => {}
            }
        }
    }
}
