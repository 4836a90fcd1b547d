//! What a command prints, on its way to its caller.

use std::io;
use stockade_policy::Event;
use tokio::net::unix::pipe;

/// Bytes taken at once.
const CHUNK: usize = 64 * 1024;
/// What may still lie in a pipe when its command is over; who writes more then is somebody else.
const MOST_REST: usize = 1024 * 1024;

/// The reading ends of both streams.
#[derive(Debug)]
pub(super) struct Output {
    streams: [Option<pipe::Receiver>; 2],
    buffer: Vec<u8>,
    /// Bytes that may still be passed on; `None` without a limit.
    left: Option<u64>,
    limit: u64,
    truncated: bool,
    rest: usize,
}

impl Output {
    pub(super) fn new(stdout: pipe::Receiver, stderr: pipe::Receiver, limit: Option<u64>) -> Self {
        Self {
            streams: [Some(stdout), Some(stderr)],
            buffer: Vec::new(),
            left: limit,
            limit: limit.unwrap_or(u64::MAX),
            truncated: false,
            rest: 0,
        }
    }

    /// Whether something was cut off.
    pub(super) fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Waits until there is something. May be dropped and called again.
    pub(super) async fn readable(&self) {
        let [stdout, stderr] = &self.streams;
        tokio::select! {
            () = ready(stdout.as_ref()) => {}
            () = ready(stderr.as_ref()) => {}
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

    /// Reads and drops what processes that go on print from now on: a server that nobody listens to must not
    /// be ended by the first line it logs.
    pub(super) fn leave(&mut self) {
        for stream in self.streams.iter_mut().filter_map(Option::take) {
            tokio::spawn(async move {
                let mut nothing = vec![0; CHUNK];
                while stream.readable().await.is_ok() {
                    match stream.try_read(&mut nothing) {
                        Ok(0) => return,
                        Ok(_) => {}
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(_) => return,
                    }
                }
            });
        }
    }

    /// Reads one piece. Returns how many bytes there were.
    fn read(
        &mut self,
        stream: usize,
        events: &mut Vec<Event>,
        take: impl Fn(&pipe::Receiver, &mut [u8]) -> io::Result<usize>,
    ) -> usize {
        let Some(open) = &self.streams[stream] else { return 0 };
        self.buffer.resize(CHUNK, 0);
        let length = match take(open, &mut self.buffer) {
            Ok(0) => {
                self.streams[stream] = None;
                return 0;
            }
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return 0,
            Err(_) => {
                self.streams[stream] = None;
                return 0;
            }
        };
        let fits = self.left.map_or(length, |left| usize::try_from(left).unwrap_or(usize::MAX).min(length));
        if fits > 0 {
            let data = self.buffer[..fits].to_vec();
            events.push(if stream == 0 { Event::Stdout { data } } else { Event::Stderr { data } });
        }
        if let Some(left) = &mut self.left {
            *left -= fits as u64;
        }
        if fits < length && !self.truncated {
            self.truncated = true;
            events.push(Event::Truncated { limit: self.limit });
        }
        length
    }
}

async fn ready(stream: Option<&pipe::Receiver>) {
    match stream {
        // An error shows when it is read.
        Some(stream) => drop(stream.readable().await),
        None => std::future::pending().await,
    }
}
