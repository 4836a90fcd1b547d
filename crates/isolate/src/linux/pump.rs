//! Following one command: its output, its time limit, its caller's wishes, its end.

use super::broker::{Noted, Telling};
use super::kept::Kept;
use super::outbox::Outbox;
use super::sandbox::{Heard, Job};
use super::sys;
use super::wire::{Order, Report};
use crate::running::Wish;
use crate::{Afterwards, Command, Concern, Running};
use rustix::fd::OwnedFd;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};
use stockade_policy::{
    Ask, Event, Exit, LayerState, Outcome, Reply, Usage, Violation, ViolationKind, WallLayer,
};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

/// How long a cancelled command has to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// How long the first process has to kill everybody before it is killed itself.
const LAST_RESORT: Duration = Duration::from_secs(1);
/// Events that may wait for a slow reader before the command's own output waits.
const EVENTS: usize = 64;
const UNBROKERED: &str = "the broker ended unexpectedly, and everything inside was ended with it";
const TIME_LIMIT: &str = "the time limit was reached";
const CHUNK: usize = 64 * 1024;
/// Numbers below this are exact in every language's JSON.
const QUESTIONS: u64 = 1 << 53;

/// A started command before its caller has it.
pub(crate) struct Pump {
    pub(crate) job: Job,
    pub(crate) reports: mpsc::UnboundedReceiver<Heard>,
    /// Heard before it was known to have started.
    pub(crate) early: Vec<Heard>,
    pub(crate) stdout: Option<pipe::Receiver>,
    pub(crate) stderr: Option<pipe::Receiver>,
    pub(crate) label: String,
    pub(crate) pid: u32,
}

impl Pump {
    /// Starts following and gives the caller their handle.
    pub(crate) fn run(
        self,
        command: &Command,
        stdin: Option<pipe::Sender>,
        terminal: Option<OwnedFd>,
    ) -> Running {
        let (outbox, receiver) = Outbox::new(EVENTS);
        let (wishes, wished) = mpsc::unbounded_channel();
        let pid = self.pid;
        let follower = Follower {
            started: Instant::now(),
            deadline: command.time_limit.map(|limit| (Instant::now() + limit, limit)),
            grace: None,
            last_resort: None,
            left: command.output_limit,
            limit: command.output_limit.unwrap_or(u64::MAX),
            truncated: false,
            forced: None,
            outbox,
            kept: Kept::default(),
            sequence: 0,
            asked: HashMap::new(),
            afterwards: command.afterwards,
            pump: self,
        };
        tokio::spawn(follower.follow(wished));
        Running { events: receiver, wishes, stdin, terminal, pid }
    }
}

struct Follower {
    pump: Pump,
    outbox: Outbox,
    started: Instant,
    deadline: Option<(Instant, Duration)>,
    /// When a cancelled command is killed.
    grace: Option<Instant>,
    /// When a first process that does not obey (somebody may have stopped it) is killed.
    last_resort: Option<Instant>,
    /// Bytes of output that may still be passed on; `None` without a limit.
    left: Option<u64>,
    limit: u64,
    truncated: bool,
    /// How the run ends whatever the command says.
    forced: Option<Exit>,
    /// What was refused.
    kept: Kept,
    sequence: u64,
    /// Questions that stand, by the number they are known by outside.
    asked: HashMap<u64, Standing>,
    afterwards: Afterwards,
}

/// A question that stands.
struct Standing {
    /// The number it has in here.
    id: u64,
    /// What it is about.
    violation: Violation,
}

/// What woke the follower.
enum Woken {
    Heard(Option<Heard>),
    Output(Stream),
    Wish(Option<Wish>),
    Deadline,
    Grace,
    LastResort,
    /// For an event that waits.
    Room,
}

#[derive(Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

impl Follower {
    async fn follow(mut self, mut wishes: mpsc::UnboundedReceiver<Wish>) {
        let started = Event::Started { sandbox: self.pump.job.shared.id.clone(), pid: self.pump.pid };
        self.outbox.tell(started);
        for heard in std::mem::take(&mut self.pump.early) {
            self.hear(heard);
        }
        let mut wished_for = true;
        let (exit, usage) = loop {
            let woken = tokio::select! {
                biased;
                // Before what is heard: of that a command can make as much as it likes.
                () = until(self.deadline.map(|(at, _)| at)) => Woken::Deadline,
                () = until(self.grace) => Woken::Grace,
                () = until(self.last_resort) => Woken::LastResort,
                wish = wishes.recv(), if wished_for => Woken::Wish(wish),
                heard = self.pump.reports.recv() => Woken::Heard(heard),
                () = self.outbox.may_pass_on() => Woken::Room,
                () = readable(self.pump.stdout.as_ref(), &self.outbox) => Woken::Output(Stream::Stdout),
                () = readable(self.pump.stderr.as_ref(), &self.outbox) => Woken::Output(Stream::Stderr),
            };
            // A command that had ended before is neither late nor cancelled.
            if matches!(woken, Woken::Deadline | Woken::Wish(_))
                && let Some(report) = self.hear_what_waits()
            {
                break ended(Some(report));
            }
            match woken {
                Woken::Heard(None) => break ended(None),
                Woken::Heard(Some(Heard::Report(report, _))) => break ended(Some(report)),
                Woken::Heard(Some(heard)) => self.hear(heard),
                Woken::Room => self.outbox.pass_on(),
                Woken::Output(stream) => {
                    self.pass_on(stream);
                }
                Woken::Wish(Some(Wish::Signal(signal))) => self.signal(signal).await,
                Woken::Wish(Some(Wish::Cancel(signal))) => {
                    self.forced.get_or_insert(Exit::Cancelled { signal });
                    self.grace.get_or_insert(Instant::now() + GRACE);
                    self.signal(signal).await;
                }
                Woken::Wish(Some(Wish::Reply(id, reply))) => self.reply(id, reply),
                Woken::Wish(Some(Wish::Turn(told))) => {
                    self.tell_newest();
                    // Who does not listen any more does not want to know.
                    let _ = told.send(self.kept.take().1);
                }
                Woken::Wish(None) => {
                    // The caller dropped its handle: nobody is left who wants the command.
                    wished_for = false;
                    self.forced.get_or_insert(Exit::Cancelled { signal: libc::SIGKILL });
                    self.signal(libc::SIGKILL).await;
                }
                Woken::Deadline => self.time_out().await,
                Woken::Grace => self.kill_all().await,
                Woken::LastResort => {
                    self.last_resort = None;
                    self.pump.job.shared.kill();
                }
            }
        };
        // What the command wrote before it ended is in the pipes by now; what others still hold open is
        // not waited for.
        for stream in [Stream::Stdout, Stream::Stderr] {
            while self.pass_on(stream) {
                self.hand_over().await;
            }
        }
        self.finish(exit, usage).await;
    }

    async fn signal(&self, signal: i32) {
        // An error means the sandbox is gone; the report channel says so next.
        let _ = self.pump.job.shared.send(Order::Signal { id: self.pump.job.id, signal }, &[]).await;
    }

    /// Hears what was said until now; gives the end, where that was said.
    fn hear_what_waits(&mut self) -> Option<Report> {
        for _ in 0..self.pump.reports.len() {
            match self.pump.reports.try_recv() {
                Ok(Heard::Report(report, _)) => return Some(report),
                Ok(heard) => self.hear(heard),
                Err(_) => break,
            }
        }
        None
    }

    /// Waits until everything told has been taken. What goes on inside is heard meanwhile, or it would pile up.
    async fn hand_over(&mut self) {
        while self.outbox.is_waiting() {
            tokio::select! {
                biased;
                () = self.outbox.may_pass_on() => self.outbox.pass_on(),
                Some(heard) = self.pump.reports.recv() => self.hear(heard),
            }
        }
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Refused(noted) => self.refused(noted),
            Heard::RefusedOneMore => self.kept.count(),
            Heard::Ask { id, noted } => self.ask(id, noted),
            Heard::Report(..) => {}
        }
    }

    /// Something was refused.
    fn refused(&mut self, noted: Noted) {
        let concern = noted.concern;
        let violation = self.told_by_broker(noted);
        self.keep(violation, concern);
    }

    fn keep(&mut self, violation: Violation, concern: Concern) {
        if self.kept.keep(&violation, concern) == Telling::InFull {
            self.outbox.tell(Event::Violation(violation));
        }
    }

    /// Tells of the newest of a flood, once nothing newer can come.
    fn tell_newest(&mut self) {
        for violation in self.kept.untold() {
            self.outbox.tell(Event::Violation(violation));
        }
    }

    /// A call waits. Should it be refused in the end, that is a violation.
    fn ask(&mut self, id: u64, noted: Noted) {
        let reason = noted.reason.clone();
        let violation = self.told_by_broker(noted);
        let Some(known) = self.new_question() else {
            self.pump.job.shared.reply(id, Reply::Deny);
            return self.keep(violation, Concern::default());
        };
        self.asked.insert(known, Standing { id, violation: violation.clone() });
        self.outbox.tell(Event::Ask(Ask { id: known, violation, reason }));
    }

    /// A number that nobody can foresee: whatever was said before a question was put answers another.
    fn new_question(&self) -> Option<u64> {
        let number = sys::random_number().ok()? % QUESTIONS;
        (!self.asked.contains_key(&number)).then_some(number)
    }

    fn reply(&mut self, id: u64, reply: Reply) {
        // Answered twice, or never asked.
        let Some(Standing { id: inner, violation }) = self.asked.remove(&id) else { return };
        self.pump.job.shared.reply(inner, reply);
        self.outbox.tell(Event::Answered { id, reply });
        if reply == Reply::Deny {
            self.keep(violation, Concern::default());
        }
    }

    fn told_by_broker(&mut self, noted: Noted) -> Violation {
        self.sequence += 1;
        Violation {
            seq: self.sequence,
            time: noted.time,
            sandbox: self.pump.job.shared.id.clone(),
            command: self.pump.label.clone(),
            pid: noted.pid,
            program: noted.program,
            kind: noted.kind,
            subject: noted.subject,
            reason: noted.reason,
            rule: noted.rule,
            suggestion: noted.suggestion,
        }
    }

    async fn kill_all(&mut self) {
        self.grace = None;
        if self.afterwards == Afterwards::Beside {
            return self.signal(libc::SIGKILL).await;
        }
        self.last_resort.get_or_insert(Instant::now() + LAST_RESORT);
        let _ = self.pump.job.shared.send(Order::KillAll, &[]).await;
    }

    async fn time_out(&mut self) {
        if let Some((_, limit)) = self.deadline.take() {
            self.forced = Some(Exit::TimedOut);
            let subject = format!("maxExecutionTime {} ms", limit.as_millis());
            let violation = self.violation(subject);
            self.keep(violation, Concern::default());
        }
        self.kill_all().await;
    }

    /// Passes on one piece of output. False when there is none right now.
    fn pass_on(&mut self, stream: Stream) -> bool {
        let pipe = match stream {
            Stream::Stdout => &mut self.pump.stdout,
            Stream::Stderr => &mut self.pump.stderr,
        };
        let Some(open) = pipe else { return false };
        // Not zeroed: only what is read is ever touched.
        let mut data = Vec::with_capacity(CHUNK);
        match open.try_read_buf(&mut data) {
            Ok(0) => {
                *pipe = None;
                return false;
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return false,
            Err(_) => {
                *pipe = None;
                return false;
            }
        }
        if let Some(left) = &mut self.left {
            let fits = usize::try_from(*left).unwrap_or(usize::MAX).min(data.len());
            let cut = fits < data.len();
            data.truncate(fits);
            *left -= fits as u64;
            if cut && !self.truncated {
                self.truncated = true;
                self.send_output(stream, data);
                self.outbox.tell(Event::Truncated { limit: self.limit });
                return true;
            }
        }
        self.send_output(stream, data);
        true
    }

    fn send_output(&mut self, stream: Stream, data: Vec<u8>) {
        if data.is_empty() {
            return;
        }
        let event = match stream {
            Stream::Stdout => Event::Stdout { data },
            Stream::Stderr => Event::Stderr { data },
        };
        // A reader that is gone loses its output; the command is drained all the same.
        self.outbox.tell(event);
    }

    /// Nobody hears a question any more once the command is over.
    fn close(&mut self) {
        self.pump.reports.close();
        while let Ok(heard) = self.pump.reports.try_recv() {
            match heard {
                Heard::Ask { id, .. } => self.pump.job.shared.reply(id, Reply::Deny),
                heard => self.hear(heard),
            }
        }
        for standing in std::mem::take(&mut self.asked).into_values() {
            self.pump.job.shared.reply(standing.id, Reply::Deny);
        }
    }

    async fn finish(mut self, exit: Exit, usage: Usage) {
        self.close();
        self.tell_newest();
        let exit = self.forced.unwrap_or(exit);
        // What was refused last is what a command that failed is likely to have failed of.
        let failed = exit.status() != 0 && !matches!(exit, Exit::Cancelled { .. });
        let likely = self.kept.last().filter(|_| failed).cloned();
        let (violations, more_violations) = self.kept.take();
        let shared = &self.pump.job.shared;
        let mut enforcement = shared.enforcement().clone();
        let (mut blocked, mut reason) =
            (likely.is_some(), likely.as_ref().map(|violation| violation.reason.clone()));
        if failed && shared.unbrokered.load(Ordering::Relaxed) {
            let why = shared.why_unbrokered().unwrap_or_else(|| UNBROKERED.into());
            enforcement.set(WallLayer::Broker, LayerState::Missing { reason: why.clone() });
            (blocked, reason) = (true, Some(why));
        }
        let outcome = Outcome {
            exit,
            exit_code: exit.status(),
            sandboxed: true,
            kind: "native".into(),
            duration_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            blocked,
            blocked_reason: reason,
            blocked_resource: likely.map(|violation| violation.subject),
            truncated: self.truncated,
            usage,
            violations,
            more_violations,
            network: None,
            review: None,
            enforcement,
        };
        self.outbox.tell(Event::Exited(Box::new(outcome)));
        self.hand_over().await;
    }

    fn violation(&mut self, subject: String) -> Violation {
        self.sequence += 1;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Violation {
            seq: self.sequence,
            time: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
            sandbox: self.pump.job.shared.id.clone(),
            command: self.pump.label.clone(),
            pid: self.pump.pid,
            program: None,
            kind: ViolationKind::Limit,
            subject,
            reason: TIME_LIMIT.into(),
            rule: None,
            suggestion: Some("--timeout".into()),
        }
    }
}

fn ended(report: Option<Report>) -> (Exit, Usage) {
    let Some(Report::Exited { status, user_us, system_us, max_rss_kib, .. }) = report else {
        // The first process went away, and took the command with it.
        return (Exit::Signal { signal: libc::SIGKILL }, Usage::default());
    };
    let exit = if libc::WIFSIGNALED(status) {
        Exit::Signal { signal: libc::WTERMSIG(status) }
    } else {
        Exit::Code { code: libc::WEXITSTATUS(status) }
    };
    (exit, Usage { user_us, system_us, max_rss_kib })
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Ready when there is output and room for an event.
async fn readable(pipe: Option<&pipe::Receiver>, outbox: &Outbox) {
    let Some(pipe) = pipe else { return std::future::pending().await };
    // Without room for an event the output waits in the pipe, and so does the command.
    outbox.has_room().await;
    let _ = pipe.readable().await;
}
