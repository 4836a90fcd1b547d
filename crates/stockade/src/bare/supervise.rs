//! Watches a plain process to its end.

use super::Wish;
use crate::relay::STEP;
use rustix::process::{Pid, Signal};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use stockade_policy::{Enforcement, Event, Exit, Outcome, Usage};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio::time::sleep_until;

const SIGKILL: i32 = 9;

/// Between the caller's signal and the one nobody can ignore.
const GRACE: Duration = Duration::from_secs(2);

pub(super) struct Supervisor {
    /// The child leads a process group of its own.
    pub(super) group: bool,
    pub(super) tell: mpsc::Sender<Event>,
    pub(super) wished: mpsc::UnboundedReceiver<Wish>,
    pub(super) deadline: Option<Instant>,
    pub(super) remaining: Option<u64>,
    pub(super) limit: Option<u64>,
    pub(super) truncated: bool,
    pub(super) begun: Instant,
    pub(super) enforcement: Enforcement,
}

impl Supervisor {
    /// `end` becomes readable when the child has ended; until it is waited for, its number stays its own.
    pub(super) async fn run(
        mut self,
        mut child: Child,
        end: AsyncFd<OwnedFd>,
        [mut output, mut error]: [Option<Receiver>; 2],
    ) {
        self.event(Event::Started { sandbox: String::new(), pid: child.id() }).await;
        let mut verdict = None;
        let mut deadline = self.deadline.map(|deadline| (deadline, Exit::TimedOut));
        let mut buffers = [vec![0; STEP], vec![0; STEP]];
        let [out_buffer, error_buffer] = &mut buffers;
        loop {
            let due = deadline.map(|(at, _)| at.into());
            tokio::select! {
                biased;
                wish = self.wished.recv() => match wish {
                    Some(Wish::Signal(signal)) => self.send(&child, signal),
                    Some(Wish::Cancel(signal)) => {
                        self.send(&child, signal);
                        verdict.get_or_insert(Exit::Cancelled { signal });
                        deadline = Some((Instant::now() + GRACE, Exit::Cancelled { signal }));
                    }
                    // The caller dropped the run.
                    None => {
                        self.send(&child, SIGKILL);
                        let _ = end.readable().await;
                        let _ = child.wait();
                        return;
                    }
                },
                () = wait_for(due), if due.is_some() => {
                    if let Some((_, exit)) = deadline.take() {
                        verdict.get_or_insert(exit);
                    }
                    self.send(&child, SIGKILL);
                }
                count = read(&mut output, out_buffer) => {
                    let data = out_buffer[..count].to_vec();
                    self.pass_on(data, |data| Event::Stdout { data }).await;
                }
                count = read(&mut error, error_buffer) => {
                    let data = error_buffer[..count].to_vec();
                    self.pass_on(data, |data| Event::Stderr { data }).await;
                }
                _ = end.readable() => break,
            }
        }
        // What was written before the end is still in the pipes; children left behind may hold them
        // open for ever and are not waited for.
        while let Some(count @ 1..) = output.as_ref().and_then(|pipe| pipe.try_read(out_buffer).ok()) {
            self.pass_on(out_buffer[..count].to_vec(), |data| Event::Stdout { data }).await;
        }
        while let Some(count @ 1..) = error.as_ref().and_then(|pipe| pipe.try_read(error_buffer).ok()) {
            self.pass_on(error_buffer[..count].to_vec(), |data| Event::Stderr { data }).await;
        }
        let Ok(status) = child.wait() else { return };
        let outcome = self.outcome(verdict.unwrap_or_else(|| how(status)));
        self.event(Event::Exited(Box::new(outcome))).await;
    }

    fn outcome(&mut self, exit: Exit) -> Outcome {
        let elapsed = self.begun.elapsed().as_millis();
        Outcome {
            exit,
            exit_code: exit.status(),
            sandboxed: false,
            kind: "none".into(),
            duration_ms: u64::try_from(elapsed).unwrap_or(u64::MAX),
            blocked: false,
            blocked_reason: None,
            blocked_resource: None,
            truncated: self.truncated,
            usage: Usage::default(),
            violations: Vec::new(),
            more_violations: 0,
            network: None,
            review: None,
            enforcement: std::mem::take(&mut self.enforcement),
        }
    }

    async fn pass_on(&mut self, mut data: Vec<u8>, wrap: impl FnOnce(Vec<u8>) -> Event) {
        if let Some(remaining) = &mut self.remaining {
            let kept = data.len().min(usize::try_from(*remaining).unwrap_or(usize::MAX));
            let cut = kept < data.len();
            data.truncate(kept);
            *remaining -= kept as u64;
            if !data.is_empty() {
                self.event(wrap(data)).await;
            }
            if cut && !std::mem::replace(&mut self.truncated, true) {
                let limit = self.limit.unwrap_or_default();
                self.event(Event::Truncated { limit }).await;
            }
        } else if !data.is_empty() {
            self.event(wrap(data)).await;
        }
    }

    async fn event(&self, event: Event) {
        // Nobody listens: the next wish is `None` and ends the command.
        let _ = self.tell.send(event).await;
    }

    fn send(&self, child: &Child, signal: i32) {
        let target = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (Some(pid), Some(signal)) = (target, Signal::from_named_raw(signal)) else { return };
        // A process that is gone needs no signal.
        let _ = if self.group {
            rustix::process::kill_process_group(pid, signal)
        } else {
            rustix::process::kill_process(pid, signal)
        };
    }
}

async fn wait_for(due: Option<tokio::time::Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Some bytes; never returns for a stream that is closed or not captured.
async fn read(pipe: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    loop {
        let Some(open) = pipe else { return std::future::pending().await };
        let result = match open.readable().await {
            Ok(()) => open.try_read(buffer),
            Err(error) => Err(error),
        };
        match result {
            Ok(count @ 1..) => return count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => *pipe = None,
        }
    }
}

fn how(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code { code },
        (None, signal) => Exit::Signal { signal: signal.unwrap_or_default() },
    }
}
