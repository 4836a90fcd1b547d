//! One held call before the judge: rules, grants, questions, records.

use super::act::Answer;
use super::caller::Caller;
use super::channel::{Away, Noted, Said, Transport};
use super::deeds::Deed;
use super::questions::Subject;
use super::repository::Locked;
use super::tally::Telling;
use crate::Concern;
use rustix::io::Errno;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use stockade_policy::{Check, Judgement, Refusal, Switch, ViolationKind};

/// What a judged act fails with.
pub(super) const REFUSED: Errno = Errno::ACCESS;

/// A path for records and questions. What is no text is written as numbers, so that no two names look alike, behind
/// the sign by which everybody knows that this is not the name itself.
pub(super) fn told(path: &Path) -> String {
    let chunks = path.as_os_str().as_bytes().utf8_chunks();
    let written = chunks.map(|chunk| {
        let odd: String = chunk
            .invalid()
            .iter()
            .map(|byte| format!("{}{{{byte:02x}}}", char::REPLACEMENT_CHARACTER))
            .collect();
        chunk.valid().to_owned() + &odd
    });
    written.collect()
}

/// A call on its way through the rules.
pub(super) struct Trial<'a> {
    pub(super) caller: Caller<'a>,
    /// What somebody allowed for this very call.
    granted: &'a [Subject],
    /// Something was allowed that the walls or the rules refuse: only the launcher can do it.
    beyond: bool,
    /// Whether anything about this call may be asked.
    askable: Switch,
    /// Directories that no other broker makes a repository of before this call is done.
    pub(super) locked: Vec<Locked>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(caller: Caller<'a>, granted: &'a [Subject]) -> Self {
        Self { caller, granted, beyond: false, askable: Switch::Allowed, locked: Vec::new() }
    }

    /// Hears what the judge said. `Err` holds the answer when that was a refusal.
    pub(super) fn hear(
        &mut self,
        kind: ViolationKind,
        path: &Path,
        judgement: Judgement,
    ) -> Result<Option<(Check, Refusal)>, Answer> {
        match judgement {
            Judgement::Free => Ok(None),
            Judgement::Check(check, refusal) => Ok(Some((check, refusal))),
            Judgement::Refused(refusal) => {
                let errno = self.as_a_wall_would(kind, path);
                self.refuse(kind, path, refusal, errno).map(|()| None)
            }
        }
    }

    /// The error a mount gives where one stands as well: a command must not be able to tell, and programs
    /// know what to make of it.
    pub(super) fn as_a_wall_would(&self, kind: ViolationKind, path: &Path) -> Errno {
        let judge = &self.caller.broker.judge;
        let is_mount = || self.caller.broker.plan.mounts.iter().any(|mount| mount.path == path);
        match kind {
            ViolationKind::Read | ViolationKind::Unix => Errno::ACCESS,
            ViolationKind::Unlink | ViolationKind::Rename if is_mount() => Errno::BUSY,
            _ if judge.why_not(path, kind).is_some() => Errno::ROFS,
            _ => REFUSED,
        }
    }

    /// Refuses, unless somebody has allowed it or can be asked. `Ok` means allowed.
    pub(super) fn refuse(
        &mut self,
        kind: ViolationKind,
        path: &Path,
        refusal: Refusal,
        errno: Errno,
    ) -> Result<(), Answer> {
        let subject = Subject { kind, path: path.to_owned() };
        let may_ask = self.asks()
            && refusal.grantable == Switch::Allowed
            && self.askable == Switch::Allowed
            && (kind == ViolationKind::Read
                || !(self.caller.broker.is_protected(path) || self.caller.broker.is_gits(path)))
            && (kind == ViolationKind::Read || !self.caller.broker.is_overlaid(path));
        if may_ask && (self.granted.contains(&subject) || self.caller.broker.questions().allows(&subject)) {
            self.beyond = true;
            return Ok(());
        }
        if may_ask {
            let asked = self.caller.broker.questions().ask(self.caller.held, subject, self.granted, errno);
            if let Some(id) = asked {
                let noted = self.note(kind, told(path), &refusal);
                self.caller.broker.say(&Said::Ask { id, noted });
                return Err(Answer::Later);
            }
        }
        self.record(kind, told(path), &refusal);
        Err(Answer::Refused(errno))
    }

    /// Nothing about this call is asked: a yes would give more than the question says.
    pub(super) fn ask_nothing(&mut self) {
        self.askable = Switch::Refused;
    }

    pub(super) fn asks(&self) -> bool {
        self.caller.broker.plan.broker.as_ref().is_some_and(|broker| broker.asking == Switch::Allowed)
    }

    /// Does the act, here or, where somebody allowed more than the walls do, in the launcher.
    ///
    /// `subjects` are what a wall may have refused; if one did, that is recorded, or asked about.
    pub(super) fn finish(
        mut self,
        subjects: impl FnOnce() -> Vec<(ViolationKind, PathBuf)>,
        deed: Option<&dyn Fn(u32) -> Deed>,
        act: impl FnOnce() -> Result<Answer, Errno>,
    ) -> Answer {
        // What a person allowed against a rule may be something no wall stands before.
        let errno = match act() {
            Ok(answer) => return answer,
            Err(errno) if !is_a_wall(errno) => return Answer::Refused(errno),
            Err(errno) => errno,
        };
        let subjects = subjects();
        for (kind, path) in &subjects {
            let Some(mut refusal) = self.caller.broker.judge.why_not(path, *kind) else { continue };
            if deed.is_none() {
                refusal.grantable = Switch::Refused;
            }
            if let Err(answer) = self.refuse(*kind, path, refusal, errno) {
                return answer;
            }
        }
        let on_the_host = subjects.iter().all(|(_, path)| self.caller.broker.is_the_hosts(path));
        let Some(deed) = deed.filter(|_| self.beyond && on_the_host) else { return Answer::Refused(errno) };
        let Ok(mask) = self.caller.mask() else { return Answer::Refused(errno) };
        match self.caller.broker.questions().entrust(self.caller.held, || deed(mask)) {
            None => Answer::Refused(REFUSED),
            Some((id, deed)) => {
                self.caller.broker.say(&Said::Do { id, deed });
                Answer::Later
            }
        }
    }

    /// Refuses a call that the system-call table closes.
    pub(super) fn refuse_call(&self, (name, errno): (&str, u32)) -> Answer {
        // Up to the first that is an address: where something lies says nothing about it.
        let told =
            self.caller.held.arguments.iter().take(3).take_while(|value| u32::try_from(**value).is_ok());
        let arguments: Vec<String> = told.map(|value| format!("{value:#x}")).collect();
        let refusal = Refusal {
            rule: None,
            reason: "the system-call table refuses it".into(),
            suggestion: None,
            grantable: Switch::Refused,
        };
        self.record(ViolationKind::Syscall, format!("{name}({})", arguments.join(", ")), &refusal);
        Answer::Refused(Errno::from_raw_os_error(errno as i32))
    }

    /// Records a refusal nobody is asked about.
    pub(super) fn record(&self, kind: ViolationKind, subject: String, refusal: &Refusal) {
        let telling = self.caller.broker.tally().of(kind, &subject);
        self.caller.broker.say(&match telling {
            Telling::InFull => Said::Refused(self.note(kind, subject, refusal)),
            Telling::AsOneMore => Said::OneMore,
        });
    }

    /// Records a connection that is refused before it comes to the gateway.
    pub(super) fn turn_away(&self, kind: ViolationKind, subject: String, refusal: &Refusal, to: SocketAddr) {
        let away = Away { to, over: Transport::Tcp };
        let telling = self.caller.broker.tally().of(kind, &subject);
        self.caller.broker.say(&match telling {
            Telling::InFull => Said::TurnedAway { noted: self.note(kind, subject, refusal), away },
            Telling::AsOneMore => Said::OneMoreAway(away),
        });
    }

    pub(super) fn note(&self, kind: ViolationKind, subject: String, refusal: &Refusal) -> Noted {
        let who = self.caller.identity();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Noted {
            time: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
            pid: who.pid,
            session: who.session,
            program: who.program,
            kind,
            concern: Concern::default(),
            subject,
            reason: refusal.reason.clone(),
            rule: refusal.rule.clone(),
            suggestion: refusal.suggestion.clone(),
        }
    }
}

/// Errors that a read-only mount, a mask or a pinned name gives.
fn is_a_wall(errno: Errno) -> bool {
    matches!(errno, Errno::ROFS | Errno::ACCESS | Errno::PERM | Errno::BUSY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn names_that_are_no_text_are_told_apart() {
        let said = |bytes: &[u8]| told(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(said("/a/\u{fffd} \u{e9}".as_bytes()), "/a/\u{fffd} \u{e9}");
        assert_eq!(said(b"/a/\xff"), "/a/\u{fffd}{ff}");
        assert_eq!(said(b"/a/\xfe\xc3/b"), "/a/\u{fffd}{fe}\u{fffd}{c3}/b");
    }
}
