//! A command that is running, with its sandbox and the copying that goes on beside it.

use crate::asking::Waiting;
use crate::bare::Bare;
use crate::connect::Connected;
use crate::network::{NetworkHandle, Opened};
use crate::records::Recorder;
use crate::relay::{Feed, Outlet, Rest, copy};
use crate::reload::Following;
use crate::session::Turn;
use crate::shifts::Shift;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use stockade_isolate::Sandbox;
use stockade_policy::{Enforcement, Event, Exit, Notice, NoticeWeight, Outcome, Reply, Usage};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// What a shell would send to a writer whose reader is gone.
const SIGPIPE: i32 = 13;
/// What nobody can ignore.
const SIGKILL: i32 = 9;

/// A started command. Dropping it kills the command and removes its sandbox.
#[derive(Debug)]
pub struct Running {
    source: Source,
    enforcement: Enforcement,
    copying: Copying,
    waiting: Waiting,
    network: Option<Opened>,
    following: Option<Following>,
    warnings: Vec<String>,
    recorder: Recorder,
    /// What is told before anything else.
    first: VecDeque<Event>,
    /// What is told before the end.
    late: VecDeque<Event>,
    /// The end, while the sandbox is being taken down.
    last: Option<Box<Outcome>>,
    /// Its sandbox is noted as being at work. Dropped after it.
    shift: Option<Shift>,
    /// What holds others of its session up while it runs without walls.
    turn: Option<Turn>,
}

/// What goes on beside a command.
pub(crate) struct Beside {
    pub(crate) copying: Copying,
    pub(crate) waiting: Waiting,
    pub(crate) network: Option<Opened>,
    /// Tells when settings change.
    pub(crate) following: Option<Following>,
    /// What the person should know.
    pub(crate) warnings: Vec<String>,
    /// That the sandbox is at work.
    pub(crate) shift: Option<Shift>,
}

impl Beside {
    fn nothing_but(copying: Copying) -> Self {
        let (waiting, network, following) = (Waiting::default(), None, None);
        Self { copying, waiting, network, following, warnings: Vec::new(), shift: None }
    }
}

enum Source {
    Walled(stockade_isolate::Running, Arc<dyn Sandbox>),
    /// In a sandbox that others live in, too, and that stays.
    Beside(stockade_isolate::Running, Arc<dyn Sandbox>),
    Bare(Bare),
    /// The program could not be started: there is only an end to tell.
    Over,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Walled(running, sandbox) | Self::Beside(running, sandbox) => {
                out.debug_tuple("Walled").field(running).field(&sandbox.id()).finish()
            }
            Self::Bare(bare) => out.debug_tuple("Bare").field(bare).finish(),
            Self::Over => out.write_str("Over"),
        }
    }
}

impl Source {
    async fn next(&mut self) -> Option<Event> {
        match self {
            Self::Walled(running, _) | Self::Beside(running, _) => running.next().await,
            Self::Bare(bare) => bare.next().await,
            Self::Over => None,
        }
    }

    /// What the status does not say: that it was not the command alone that ended. Who had ended by itself would
    /// have been told with what it used.
    fn told_of(&self, outcome: &Outcome) -> Option<Event> {
        let is_walled = matches!(self, Self::Walled(..));
        let is_untold = outcome.exit == Exit::Signal { signal: SIGKILL } && outcome.usage == Usage::default();
        (is_walled && is_untold).then(|| {
            let text = "the sandbox was ended from outside or ran out of memory".to_owned();
            Event::Notice(Notice { text, weight: NoticeWeight::Warning })
        })
    }

    fn signal(&self, signal: i32) {
        match self {
            Self::Walled(running, _) | Self::Beside(running, _) => running.signal(signal),
            Self::Bare(bare) => bare.signal(signal),
            Self::Over => {}
        }
    }

    fn reply(&self, id: u64, reply: Reply) {
        // Nothing is asked about a command without walls.
        if let Self::Walled(running, _) | Self::Beside(running, _) = self {
            running.reply(id, reply);
        }
    }
}

/// Passes on what is pending, then waits for more. May be dropped and called again.
async fn next_of(source: &mut Source, copying: &mut Copying) -> Option<Event> {
    copying.pass_on(source).await;
    source.next().await
}

/// The gateway's next record. Never ends where there is no gateway.
async fn record_of(network: &mut Option<Opened>) -> Event {
    match network {
        Some(network) => network.next().await,
        None => std::future::pending().await,
    }
}

/// The next change of the settings. Never ends where nobody follows them.
async fn change_of(following: &mut Option<Following>) -> Event {
    match following {
        Some(following) => following.next().await,
        None => std::future::pending().await,
    }
}

/// Never comes where there is no such moment.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// How long bytes of a command that was ended may take to reach their reader.
const LAST_BYTES: Duration = Duration::from_secs(1);

/// Bytes on their way between the caller's descriptors and the command's.
#[derive(Debug, Default)]
pub(crate) struct Copying {
    outlets: [Option<Outlet>; 2],
    /// Captured bytes that their outlet has not taken yet: which outlet, the bytes, how many are gone.
    pending: Option<(usize, Vec<u8>, usize)>,
    inputs: Vec<JoinHandle<()>>,
    rests: Vec<Rest>,
    outputs: Vec<JoinHandle<()>>,
    /// When no reader is waited for any more: the command's time is up by then.
    overdue: Option<Instant>,
    /// Nobody takes the captured bytes.
    given_up: bool,
}

impl Copying {
    /// Begins to copy for a command that has so much time.
    pub(crate) fn begin(connected: Connected, limit: Option<Duration>) -> Self {
        let (feeds, rests): (Vec<Feed>, Vec<Rest>) = connected.feeds.into_iter().unzip();
        let inputs = connected.inputs.into_iter().map(|(from, to)| tokio::spawn(copy(from, to)));
        Self {
            outlets: connected.outlets,
            pending: None,
            inputs: inputs.chain(feeds.into_iter().map(|feed| tokio::spawn(feed.run()))).collect(),
            rests,
            outputs: connected.outputs.into_iter().map(|(from, to)| tokio::spawn(copy(from, to))).collect(),
            overdue: limit.and_then(|limit| Instant::now().checked_add(limit + LAST_BYTES)),
            given_up: false,
        }
    }

    /// Hands pending bytes to their outlet. May be dropped and called again without losing anything.
    async fn pass_on(&mut self, source: &Source) {
        while let Some((stream, data, gone)) = &mut self.pending {
            let Some(outlet) = self.outlets[*stream].as_mut().filter(|_| !self.given_up) else { break };
            match outlet.write(&data[*gone..]).await {
                Ok(count) => *gone += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    // Without us the command itself would have been told that nobody reads any more.
                    if error.kind() == io::ErrorKind::BrokenPipe {
                        source.signal(SIGPIPE);
                    }
                    break;
                }
            }
            if *gone == data.len() {
                break;
            }
        }
        self.pending = None;
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        self.inputs.iter().chain(&self.outputs).for_each(JoinHandle::abort);
    }
}

impl Running {
    fn new(source: Source, enforcement: Enforcement, beside: Beside, recorder: Recorder) -> Self {
        let Beside { copying, waiting, network, following, warnings, shift } = beside;
        let (first, late) = (VecDeque::new(), VecDeque::new());
        Self {
            source,
            enforcement,
            copying,
            waiting,
            network,
            following,
            warnings,
            recorder,
            first,
            late,
            last: None,
            shift,
            turn: None,
        }
    }

    /// Tells this before its own events.
    pub(crate) fn telling(mut self, events: Vec<Event>) -> Self {
        self.first.extend(events);
        self
    }

    /// Keeps this until it is over.
    pub(crate) fn holding(mut self, turn: Turn) -> Self {
        self.turn = Some(turn);
        self
    }

    pub(crate) fn walled(
        running: stockade_isolate::Running,
        sandbox: Arc<dyn Sandbox>,
        beside: Beside,
        recorder: Recorder,
    ) -> Self {
        let enforcement = sandbox.enforcement().clone();
        Self::new(Source::Walled(running, sandbox), enforcement, beside, recorder)
    }

    /// A command in a sandbox that stays when it ends.
    pub(crate) fn beside(
        running: stockade_isolate::Running,
        sandbox: Arc<dyn Sandbox>,
        copying: Copying,
        waiting: Waiting,
        recorder: Recorder,
    ) -> Self {
        let enforcement = sandbox.enforcement().clone();
        let beside = Beside { waiting, ..Beside::nothing_but(copying) };
        Self::new(Source::Beside(running, sandbox), enforcement, beside, recorder)
    }

    pub(crate) fn bare(bare: Bare, enforcement: Enforcement, copying: Copying, recorder: Recorder) -> Self {
        Self::new(Source::Bare(bare), enforcement, Beside::nothing_but(copying), recorder)
    }

    pub(crate) fn over(outcome: Outcome, recorder: Recorder) -> Self {
        let enforcement = outcome.enforcement.clone();
        let beside = Beside::nothing_but(Copying::default());
        Self { last: Some(Box::new(outcome)), ..Self::new(Source::Over, enforcement, beside, recorder) }
    }

    /// What the run is known by in its events, in the store of refusals and in the audit log.
    pub fn id(&self) -> &str {
        self.recorder.name()
    }

    /// Which walls stand around the command.
    pub fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    /// What the person should know about the start.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The gateway of its network; `None` where its plan has none.
    pub fn network(&self) -> Option<&NetworkHandle> {
        self.network.as_ref().map(Opened::handle)
    }

    /// The next event; `None` after [`Event::Exited`]. By then nothing of the sandbox is left.
    ///
    /// May be dropped and called again at any point without losing anything.
    pub async fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.first.pop_front() {
            return Some(event);
        }
        loop {
            if let Some(outcome) = &self.last {
                self.waiting.end();
                self.recorder.end(outcome);
                let patience = self.is_forced().then_some(LAST_BYTES);
                tokio::select! {
                    () = self.copying.pass_on(&self.source) => {}
                    () = until(patience.map(|patience| Instant::now() + patience)) => self.copying.pending = None,
                }
                self.settle().await;
                self.close_network().await;
                if let Some(event) = self.late.pop_front() {
                    return Some(event);
                }
                if let Some(event) = self.following.as_mut().and_then(Following::waiting) {
                    return Some(event);
                }
                self.recorder.settle().await;
                (self.shift, self.turn) = (None, None);
                return self.last.take().map(Event::Exited);
            }
            let overdue = self.copying.overdue;
            let mut event = tokio::select! {
                biased;
                // An output nobody takes must not keep an answer from its call.
                (id, reply) = self.waiting.next() => {
                    // The engine tells when it has taken the answer.
                    self.source.reply(id, reply);
                    continue;
                }
                // Nor may it hide that the time is up.
                () = until(overdue), if !self.copying.given_up => {
                    self.copying.given_up = true;
                    continue;
                }
                event = next_of(&mut self.source, &mut self.copying) => event,
                event = record_of(&mut self.network) => Some(event),
                event = change_of(&mut self.following) => Some(event),
            };
            if let (Some(Event::Exited(_)), Source::Walled(_, sandbox)) = (&event, &self.source) {
                // What is left inside goes while the end is written down.
                sandbox.kill();
            }
            if let Some(event) = &mut event
                && self.recorder.hear(event).is_err()
            {
                self.cancel(SIGKILL);
            }
            match event {
                Some(Event::Stdout { data }) if self.copying.outlets[0].is_some() => {
                    self.copying.pending = Some((0, data, 0));
                }
                Some(Event::Stderr { data }) if self.copying.outlets[1].is_some() => {
                    self.copying.pending = Some((1, data, 0));
                }
                Some(Event::Ask(ask)) => {
                    self.waiting.begin(ask.clone());
                    return Some(Event::Ask(ask));
                }
                Some(Event::Exited(outcome)) => {
                    self.late.extend(self.source.told_of(&outcome));
                    self.last = Some(outcome);
                }
                Some(event) => return Some(event),
                None => {
                    self.settle().await;
                    (self.shift, self.turn) = (None, None);
                    return None;
                }
            }
        }
    }

    /// The writing end of a piped standard input; dropping it is end of file.
    pub fn stdin(&mut self) -> Option<pipe::Sender> {
        match &mut self.source {
            Source::Walled(running, _) | Source::Beside(running, _) => running.stdin(),
            Source::Bare(bare) => bare.stdin(),
            Source::Over => None,
        }
    }

    /// The outer end of the private terminal.
    pub fn terminal(&mut self) -> Option<OwnedFd> {
        match &mut self.source {
            Source::Walled(running, _) | Source::Beside(running, _) => running.terminal(),
            Source::Bare(_) | Source::Over => None,
        }
    }

    /// Sends a signal to the command's process group.
    pub fn signal(&self, signal: i32) {
        self.source.signal(signal);
    }

    /// Ends the command: this signal first, SIGKILL to everything two seconds later.
    pub fn cancel(&self, signal: i32) {
        match &self.source {
            Source::Walled(running, _) | Source::Beside(running, _) => running.cancel(signal),
            Source::Bare(bare) => bare.cancel(signal),
            Source::Over => {}
        }
    }

    /// Drops the output and waits for the end. `None` only if the engine went away without a word.
    pub async fn wait(mut self) -> Option<Outcome> {
        drop(self.stdin());
        while let Some(event) = self.next().await {
            if let Event::Exited(outcome) = event {
                return Some(*outcome);
            }
        }
        None
    }

    /// Ends the gateway once nobody inside is left. What was told until then comes before the end.
    async fn close_network(&mut self) {
        // Not taken out before it is done: this may be dropped and called again.
        if let Some(network) = &self.network {
            network.handle().finish().await;
        }
        if let Some(network) = self.network.take() {
            let (sums, late) = network.into_sums();
            self.late.extend(late);
            if let Some(outcome) = &mut self.last {
                outcome.network = Some(sums);
            }
        }
    }

    /// Whoever was to read its output does not.
    pub(crate) fn nobody_reads(&mut self) {
        self.copying.given_up = true;
    }

    /// Whether it was told to be over.
    fn is_forced(&self) -> bool {
        let forced = |exit| matches!(exit, Exit::TimedOut | Exit::Cancelled { .. });
        self.last.as_ref().is_some_and(|outcome| forced(outcome.exit))
    }

    /// Takes the sandbox down and waits until everything it wrote has arrived.
    async fn settle(&mut self) {
        if let Source::Walled(_, sandbox) = &self.source {
            sandbox.destroy().await;
        }
        for input in self.copying.inputs.drain(..) {
            input.abort();
            // Cancelled or ended, it no longer writes.
            let _ = input.await;
        }
        self.copying.rests.drain(..).for_each(Rest::give_back);
        // Every writer is dead, so each copy reaches its end, unless a reader does not read. Who was told to
        // be over by now does not wait for that one.
        let forced = self.is_forced();
        while let Some(output) = self.copying.outputs.last_mut() {
            if forced && tokio::time::timeout(LAST_BYTES, &mut *output).await.is_err() {
                output.abort();
            } else if !forced {
                let _ = output.await;
            }
            self.copying.outputs.pop();
        }
    }
}
