//! One command while the shell runs it.

use super::driver::{self, Input, Place, Said};
use super::entry::{self, Entry};
use super::error::SessionError;
use super::handle::Inner;
use super::options::SessionInput;
use super::output::Output;
use super::processes::{Moment, Process, below, directory_of};
use super::seat::Seat;
use super::shell::{Pipes, Shell};
use super::stop::{Begun, SIGKILL, Stopping};
use super::walls::Walls;
use crate::backlog::Listener;
use crate::records::Recorder;
use rustix::process::Pid;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade_policy::{Event, Exit, NetworkStatistics, Violation};
use tokio::net::unix::pipe;
use tokio::sync::{OwnedMutexGuard, mpsc, oneshot};

/// How long a shell that waits for an order has to open its pipes.
const UNREADY: Duration = Duration::from_secs(5);
/// How often a shell that is at work is looked after.
const LOOK: Duration = Duration::from_secs(1);
/// The same where nothing that it prints will be heard any more.
const SOON: Duration = Duration::from_millis(50);

/// What a command begins with.
pub(super) struct Parts {
    pub(super) inner: Arc<Inner>,
    pub(super) walls: Arc<Walls>,
    pub(super) seat: OwnedMutexGuard<Seat>,
    pub(super) recorder: Recorder,
    pub(super) text: OsString,
    /// What there is to tell before it starts.
    pub(super) told: Vec<Event>,
    pub(super) cancelled: mpsc::UnboundedReceiver<i32>,
    pub(super) time_limit: Option<Duration>,
    pub(super) output_limit: Option<u64>,
}

/// A command in the shell. Whoever holds it holds the seat.
pub(super) struct Live {
    pub(super) inner: Arc<Inner>,
    pub(super) walls: Arc<Walls>,
    pub(super) seat: OwnedMutexGuard<Seat>,
    pub(super) recorder: Recorder,
    pub(super) text: OsString,
    /// The name of its turn, which it does not know.
    name: String,
    /// What its text and its input are called where they lie in files.
    files: String,
    place: Place,
    pub(super) begun: Instant,
    pub(super) since: Moment,
    /// What is to be told next.
    pub(super) queue: VecDeque<Event>,
    /// What happens beside it.
    pub(super) side: Listener,
    /// What the command after it will print to.
    pub(super) next: Option<Pipes>,
    /// Absent once everything was taken.
    pub(super) output: Option<Output>,
    pub(super) truncated: bool,
    /// It left a shell that would not run the next command.
    pub(super) spoiled: bool,
    stdin: Option<pipe::Sender>,
    /// Keeps the input from being closed before the shell has opened it.
    entry: Option<Entry>,
    has_input: bool,
    cancelled: mpsc::UnboundedReceiver<i32>,
    pub(super) deadline: Option<(Instant, Duration)>,
    /// When a shell that does not take its order, or has lost its way, is given up.
    unready: Option<Instant>,
    /// When to look again whether the shell is still where it should be.
    look: Instant,
    /// Present once it was told to end.
    pub(super) stopping: Option<Stopping>,
    /// Its processes that were told to end.
    pub(super) ending: Vec<Process>,
    /// The shell itself was told to end, so that nothing more can be run in it.
    pub(super) shell_told: bool,
    /// The shell was told to say the end where an error had brought it out of the text.
    picked_up: bool,
    /// The shell did not do as it was told, and was ended.
    pub(super) given_up: Option<Begun>,
    /// How it ends whatever the shell says.
    pub(super) forced: Option<Exit>,
    pub(super) violations: Vec<Violation>,
    pub(super) more_violations: u64,
    pub(super) sequence: u64,
    /// How many refusals there were in the sandbox before.
    pub(super) told_before: u64,
    pub(super) network_before: Option<NetworkStatistics>,
    pub(super) stage: Stage,
}

/// How far it has come.
#[derive(Debug)]
pub(super) enum Stage {
    /// The shell has it.
    Running,
    /// The shell's end of the channel is closed; the process that was the shell may still run.
    Away,
    /// It is over, and this is how.
    Draining(Exit),
    /// What was refused is still on its way.
    Turning(Exit, oneshot::Receiver<u64>),
    /// It is on record, or will be in a moment.
    Recording(Box<stockade_policy::Outcome>),
    /// Everything is told.
    Over,
}

/// What woke it.
enum Woken {
    Said(Option<Vec<u8>>),
    Side(Box<Event>),
    Output,
    Opened,
    Cancel(i32),
    Deadline,
    Unready,
    Look,
    Stopping,
    Ended(Exit),
}

impl std::fmt::Debug for Live {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Live").field("turn", &self.name).field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl Live {
    /// Gives the order.
    pub(super) fn begin(parts: Parts, input: SessionInput) -> Result<Self, SessionError> {
        let Parts { inner, walls, mut seat, recorder, text, told, cancelled, time_limit, output_limit } =
            parts;
        let begun = Instant::now();
        let shell = seat.shell.as_mut().ok_or(SessionError::Closed)?;
        let pipes = shell.take_turn().ok_or(SessionError::Closed)?;
        let directory = &walls.directory;
        let (name, files) = (directory.fresh_name(), directory.fresh_name());
        let (mut stdin, mut entry) = (None, None);
        let from = match input {
            SessionInput::Null => Input::Null,
            SessionInput::Piped => {
                let (sender, opening) = Entry::make(directory, &format!("{files}.0"))?;
                (stdin, entry) = (Some(sender), Some(opening));
                Input::Pipe
            }
        };
        let (order, place) = driver::order(&name, &files, text.as_bytes(), from);
        if place == Place::InFile {
            let mut content = text.as_bytes().to_vec();
            content.push(0);
            directory.file(&format!("{files}.c"), &content)?;
        }
        let side = walls.ear.listen();
        let told_before = walls.sandbox.hear();
        let network_before = walls.network.as_ref().map(|network| network.statistics());
        let since = Moment::now();
        // A shell that does not take it has ended, which shows next.
        let _ = shell.channel.say(&order);
        // Often it is to run on our core, and would wait until we have done what only the next command needs.
        rustix::thread::sched_yield();
        // While the command runs, there is time.
        let next = shell.next_pipes(directory).ok();
        let sandbox = recorder.name().to_owned();
        let started = Event::Started { sandbox, pid: shell.inner_pid };
        Ok(Self {
            queue: told.into_iter().chain([started]).collect(),
            output: Some(Output::new(pipes, output_limit)),
            next,
            name,
            files,
            place,
            inner,
            walls,
            seat,
            recorder,
            text,
            begun,
            since,
            side,
            stdin,
            entry,
            has_input: input == SessionInput::Piped,
            cancelled,
            deadline: time_limit.map(|limit| (begun + limit, limit)),
            unready: Some(begun + UNREADY),
            look: begun + LOOK,
            stopping: None,
            ending: Vec::new(),
            shell_told: false,
            picked_up: false,
            given_up: None,
            forced: None,
            truncated: false,
            spoiled: false,
            violations: Vec::new(),
            more_violations: 0,
            sequence: 0,
            told_before,
            network_before,
            stage: Stage::Running,
        })
    }

    pub(super) fn id(&self) -> &str {
        self.recorder.name()
    }

    pub(super) fn stdin(&mut self) -> Option<pipe::Sender> {
        self.stdin.take()
    }

    /// The next event. May be dropped and called again without losing anything.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            match &mut self.stage {
                Stage::Running | Stage::Away => {
                    let woken = self.wake().await;
                    self.act(woken);
                }
                Stage::Draining(exit) => {
                    let exit = *exit;
                    match self.output.as_mut().and_then(Output::take_rest) {
                        Some(events) => self.queue.extend(events),
                        None => self.settle(exit),
                    }
                }
                Stage::Turning(exit, told) => {
                    let (exit, counted) = (*exit, told.await.unwrap_or(0));
                    self.more_violations += counted;
                    self.finish(exit);
                }
                Stage::Recording(_) => {
                    self.recorder.settle().await;
                    if let Stage::Recording(outcome) = std::mem::replace(&mut self.stage, Stage::Over) {
                        return Some(Event::Exited(outcome));
                    }
                }
                Stage::Over => return None,
            }
        }
    }

    /// Waits for whatever comes first.
    async fn wake(&mut self) -> Woken {
        let away = matches!(self.stage, Stage::Away);
        let Some(shell) = self.seat.shell.as_mut() else {
            return Woken::Ended(Exit::Signal { signal: SIGKILL });
        };
        let (channel, tender, pid) = (&mut shell.channel, &mut shell.tender, shell.pid);
        tokio::select! {
            biased;
            event = self.side.next() => Woken::Side(Box::new(event)),
            Some(signal) = self.cancelled.recv() => Woken::Cancel(signal),
            () = until(self.deadline.map(|(at, _)| at)) => Woken::Deadline,
            () = until(self.stopping.as_ref().map(|stopping| stopping.look)) => Woken::Stopping,
            () = until(self.unready) => Woken::Unready,
            () = until(Some(self.look)), if !away => Woken::Look,
            () = entry::opened(self.entry.as_ref(), pid) => Woken::Opened,
            said = channel.next(), if !away => Woken::Said(said),
            () = readable(self.output.as_ref()) => Woken::Output,
            // Others may hold the shell's end of the channel when it is gone.
            exit = tender.end() => Woken::Ended(exit),
        }
    }

    fn act(&mut self, woken: Woken) {
        match woken {
            Woken::Said(Some(message)) => {
                if let Some(said) = Said::read(&message) {
                    self.hear(said);
                }
            }
            // Closed by an end of the shell, or by `exec` of another program: which one, its process says.
            Woken::Said(None) => {
                self.unready = None;
                if self.seat.shell.as_ref().is_some_and(|shell| shell.channel.is_flooded()) {
                    self.give_up();
                }
                self.stage = Stage::Away;
            }
            Woken::Side(event) => self.tell(*event),
            Woken::Opened => self.entry = None,
            Woken::Output => {
                self.queue.extend(self.output.iter_mut().flat_map(Output::take));
                if self.is_left() {
                    self.pick_up();
                    self.look = self.look.min(Instant::now() + SOON);
                }
            }
            Woken::Cancel(signal) => self.cancel(signal),
            Woken::Deadline => self.time_out(),
            Woken::Unready => {
                self.unready = None;
                // Something of a command before holds it up, or it has read on without saying a word.
                let astray = |shell: &Shell| shell.channel.has_unread() || shell.waits();
                if self.seat.shell.as_ref().is_some_and(astray) {
                    // One that has just come to its end has said so before it read on.
                    self.hear_waiting();
                    if matches!(self.stage, Stage::Running) {
                        self.given_up = Some(self.hold_still());
                        self.give_up();
                    }
                }
            }
            Woken::Look => {
                // It may have moved its output elsewhere before.
                let often = self.is_left() && !self.picked_up;
                self.look = Instant::now() + if often { SOON } else { LOOK };
                if self.seat.shell.as_ref().is_some_and(Shell::waits) {
                    // Something it left running may have its output open.
                    self.pick_up();
                    // Its next word may be on its way.
                    self.unready.get_or_insert_with(|| Instant::now() + LOOK);
                }
            }
            Woken::Stopping => self.press_on(),
            Woken::Ended(exit) => {
                self.hear_waiting();
                self.leave_nobody();
                self.seat.shell = None;
                self.stage = Stage::Draining(exit);
            }
        }
    }

    /// Whether nobody has the command's output open any more.
    fn is_left(&self) -> bool {
        self.output.as_ref().is_some_and(Output::was_left)
    }

    /// Has a shell say the end that an error has brought out of the text. One that waits for its order has the
    /// output open; where nobody had, it has not begun its turn.
    fn pick_up(&mut self) {
        let waits = |shell: &Shell| shell.waits() && !shell.channel.has_unread();
        let fallen_out =
            |shell: &Shell| waits(shell) && (self.is_left() || self.is_kept_open_below(shell.pid));
        if self.picked_up || !self.seat.shell.as_ref().is_some_and(fallen_out) {
            return;
        }
        self.picked_up = true;
        if let Some(shell) = &mut self.seat.shell {
            // One that does not take it has ended, which shows by itself.
            let _ = shell.channel.say(&driver::fallen_out(&self.name));
        }
    }

    /// Whether something the command has started has its output open, and the shell itself has not.
    fn is_kept_open_below(&self, shell: Pid) -> bool {
        let Some(output) = &self.output else { return false };
        !output.is_held_by(shell)
            && below([shell], self.since).iter().any(|process| output.is_held_by(process.pid()))
    }

    /// Hears what the shell has said already.
    fn hear_waiting(&mut self) {
        while let Some(message) = self.seat.shell.as_mut().and_then(|shell| shell.channel.waiting()) {
            if let Some(said) = Said::read(&message) {
                self.hear(said);
            }
        }
    }

    fn hear(&mut self, said: Said) {
        match said {
            Said::Spoiled { turn, cwd } if turn == self.name.as_bytes() => {
                let cwd = self.place(cwd);
                self.inner.common().kept.stand_at(cwd);
                self.be_spoiled();
            }
            Said::End { turn, status, cwd } if turn == self.name.as_bytes() => {
                let cwd = self.place(cwd);
                self.inner.common().kept.stand_at(cwd);
                self.remove_names();
                self.unready = None;
                self.stage = Stage::Draining(Exit::Code { code: status });
            }
            Said::State { cwd, exports } | Said::Leaving { cwd, exports, .. } => {
                let cwd = self.place(cwd);
                let mut common = self.inner.common();
                common.kept.stand_at(cwd);
                common.kept.export(&exports);
            }
            // Nothing of its own could say it: the name was changed on its way.
            Said::End { turn, .. } | Said::Spoiled { turn, .. } if !self.is_of_the_last(&turn) => {
                self.be_spoiled();
            }
            Said::Hello | Said::End { .. } | Said::Spoiled { .. } => {}
        }
    }

    /// Ends a shell that would not run the next command.
    fn be_spoiled(&mut self) {
        self.remove_names();
        self.unready = None;
        self.spoiled = true;
        self.seat.shell = None;
        self.stage = Stage::Draining(Exit::Signal { signal: SIGKILL });
    }

    /// Whether this is the turn before, of which some shells say the end twice.
    fn is_of_the_last(&self, turn: &[u8]) -> bool {
        self.seat.shell.as_ref().is_some_and(|shell| shell.last_turn.as_bytes() == turn)
    }

    /// Where the shell is, whatever it says. That it is where it was before is believed.
    fn place(&self, said: Vec<u8>) -> Vec<u8> {
        match &self.seat.shell {
            Some(shell) if !self.inner.common().kept.stands_at(&said) => directory_of(shell.pid, said),
            _ => said,
        }
    }

    /// The shell is free, and opens the pipes of the next command while this one's result is on its way.
    pub(super) fn end_turn(&mut self, last: Option<Output>) {
        self.leave_nobody();
        match (&mut self.seat.shell, self.next.take()) {
            (Some(shell), Some(next)) if !self.shell_told => {
                shell.last_turn.clone_from(&self.name);
                shell.begin_turn(next, last);
            }
            (_, next) => {
                self.seat.shell = None;
                self.drop_pipes(next, last);
            }
        }
        self.seat.unasked = true;
        self.inner.spoke.notify_one();
    }

    /// Nobody will use them any more.
    pub(super) fn drop_pipes(&self, next: Option<Pipes>, last: Option<Output>) {
        let directory = &self.walls.directory;
        let last = last.and_then(|output| output.give_back(directory));
        for pipes in next.into_iter().chain(last) {
            Pipes::remove(&pipes.name, directory);
        }
    }

    fn remove_names(&mut self) {
        let directory = &self.walls.directory;
        if self.place == Place::InFile {
            directory.remove(&format!("{}.c", self.files));
        }
        self.entry = None;
        if self.has_input {
            directory.remove(&format!("{}.0", self.files));
        }
    }
}

async fn readable(output: Option<&Output>) {
    match output {
        Some(output) => output.readable().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
