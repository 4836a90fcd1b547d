//! The end of a command, put into an outcome.

use super::house;
use super::live::{Live, Stage};
use super::output::Output;
use super::stop::{Begun, SIGKILL};
use std::time::{Duration, SystemTime};
use stockade_policy::{
    Event, Exit, HostStatistics, NetworkStatistics, Outcome, Usage, Violation, ViolationKind,
};

/// Refusals of one command that are kept one by one, more than are told one by one; the rest is counted.
const MOST_VIOLATIONS: usize = 2000;

impl Live {
    /// Passes on what happened beside the command.
    pub(super) fn tell(&mut self, mut event: Event) {
        if let Event::Violation(violation) = &mut event {
            if self.violations.len() >= MOST_VIOLATIONS {
                self.more_violations += 1;
                return;
            }
            self.number(violation);
        }
        if let Event::Ask(ask) = &mut event {
            self.number(&mut ask.violation);
        }
        if self.recorder.hear(&mut event).is_err() {
            self.cancel_unrecorded();
        }
        if let Event::Violation(violation) = &event {
            self.violations.push(violation.clone());
        }
        self.queue.push_back(event);
    }

    /// A violation is the command's, not the shell's.
    fn number(&mut self, violation: &mut Violation) {
        self.sequence += 1;
        violation.seq = self.sequence;
        violation.command = self.text.to_string_lossy().into_owned();
    }

    pub(super) fn refuse_time(&mut self, limit: Duration) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.tell(Event::Violation(Violation {
            seq: 0,
            time: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
            sandbox: String::new(),
            command: String::new(),
            pid: 0,
            program: None,
            kind: ViolationKind::Limit,
            subject: format!("maxExecutionTime {} ms", limit.as_millis()),
            reason: "the time limit was reached".into(),
            rule: None,
            suggestion: Some("--timeout".into()),
        }));
    }

    /// All output is told: what was refused comes next.
    pub(super) fn settle(&mut self, exit: Exit) {
        let output = self.output.take();
        self.truncated = output.as_ref().is_some_and(Output::is_truncated);
        if self.seat.shell.is_some() {
            self.end_turn(output);
        } else {
            let next = self.next.take();
            self.drop_pipes(next, output);
        }
        let told = self.walls.sandbox.hear();
        match &self.seat.shell {
            Some(shell) if told != self.told_before => {
                self.stage = Stage::Turning(exit, shell.tender.turn());
            }
            _ => self.finish(exit),
        }
    }

    /// Puts everything into an outcome.
    pub(super) fn finish(&mut self, exit: Exit) {
        self.walls.ear.be_deaf();
        while let Some(event) = self.side.take() {
            self.tell(event);
        }
        // Which of our signals it was is of no use to anybody.
        let exit = if self.given_up.is_some() { Exit::Signal { signal: SIGKILL } } else { exit };
        let exit = self.forced.unwrap_or(exit);
        if self.seat.shell.is_none() {
            let reason = self.why_restarted(exit);
            self.seat.untold = None;
            let standing = self.walls.stand();
            let event = house::will_restart(reason, &self.inner.common().kept, standing);
            self.inner.note_restart(&event);
            self.queue.push_back(event);
        }
        self.inner.common().used = std::time::Instant::now();
        let failed = exit.status() != 0 && !matches!(exit, Exit::Cancelled { .. });
        let likely = self.violations.last().filter(|_| failed).cloned();
        let network = self.walls.network.as_ref().map(|network| network.statistics());
        let outcome = Outcome {
            exit,
            exit_code: exit.status(),
            sandboxed: true,
            kind: self.walls.runtime.provider().kind().to_owned(),
            duration_ms: u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            blocked: likely.is_some(),
            blocked_reason: likely.as_ref().map(|violation| violation.reason.clone()),
            blocked_resource: likely.map(|violation| violation.subject),
            truncated: self.truncated,
            usage: Usage::default(),
            violations: std::mem::take(&mut self.violations),
            more_violations: self.more_violations,
            network: network.map(|now| since(now, self.network_before.as_ref())),
            review: None,
            enforcement: self.walls.sandbox.enforcement().clone(),
        };
        self.recorder.end(&outcome);
        self.stage = Stage::Recording(Box::new(outcome));
    }

    fn why_restarted(&self, exit: Exit) -> String {
        if !self.walls.stand() {
            return "the sandbox was ended from outside or ran out of memory".into();
        }
        if self.spoiled {
            return "the command changed variables its shell needs to run the next one".into();
        }
        if let (Some(begun), None) = (self.given_up, self.forced) {
            let of_command = match begun {
                Begun::No => "the command was not run",
                Begun::Perhaps => "the command may not have been run",
                Begun::Over => "the command was run, and did not let it say how that ended",
            };
            return format!("the shell did not take orders any more, and was given up: {of_command}");
        }
        match exit {
            Exit::Code { code } => format!("the command ended its shell with status {code}"),
            Exit::Signal { signal } => format!("the shell was ended by signal {signal}"),
            Exit::TimedOut => "the command's time was up, and its shell was ended with it".into(),
            Exit::Cancelled { .. } => "the command was cancelled, and its shell was ended with it".into(),
            Exit::NotStarted { .. } => "the shell could not go on".into(),
        }
    }
}

/// What was counted since.
fn since(now: NetworkStatistics, before: Option<&NetworkStatistics>) -> NetworkStatistics {
    let Some(before) = before else { return now };
    let known = |host: &str| before.hosts.iter().find(|known| known.host == host);
    let hosts = now.hosts.into_iter().filter_map(|host| {
        let Some(known) = known(&host.host) else { return Some(host) };
        let rest = HostStatistics {
            connections: host.connections.saturating_sub(known.connections),
            requests: host.requests.saturating_sub(known.requests),
            refused: host.refused.saturating_sub(known.refused),
            sent: host.sent.saturating_sub(known.sent),
            received: host.received.saturating_sub(known.received),
            host: host.host,
        };
        let used = rest.connections + rest.requests + rest.refused + rest.sent + rest.received > 0;
        used.then_some(rest)
    });
    NetworkStatistics {
        connections: now.connections.saturating_sub(before.connections),
        requests: now.requests.saturating_sub(before.requests),
        refused: now.refused.saturating_sub(before.refused),
        sent: now.sent.saturating_sub(before.sent),
        received: now.received.saturating_sub(before.received),
        hosts: hosts.collect(),
    }
}
