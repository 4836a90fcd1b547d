//! What was opened after the start, and how a policy is told.

use crate::grants::Given;
use crate::{Asker, BoxFuture, Question};
use std::path::PathBuf;
use std::sync::Arc;
use stockade_policy::{Granted, GrantedList, Reply, ViolationKind};

/// Something that commands may be given access to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Read a file, or a directory and all that is below it.
    Read(PathBuf),
    /// Change it, too.
    Write(PathBuf),
    /// Connect to a unix socket.
    UnixSocket(PathBuf),
    /// Connect to `host` or `host:port`.
    Host(String),
}

impl Access {
    /// The same as if a command had been refused it.
    pub(super) fn given(&self) -> Given {
        let (kind, subject) = match self {
            Self::Read(path) => (ViolationKind::Read, path.display().to_string()),
            Self::Write(path) => (ViolationKind::Write, path.display().to_string()),
            Self::UnixSocket(path) => (ViolationKind::Unix, path.display().to_string()),
            Self::Host(host) => (ViolationKind::Connect, host.clone()),
        };
        let (sandbox, why) = (String::new(), "asked for by the program".to_owned());
        Given { kind, subject, rule: None, sandbox, who: WHO.to_owned(), why }
    }

    pub(super) fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Read(path) | Self::Write(path) | Self::UnixSocket(path) => Some(path),
            Self::Host(_) => None,
        }
    }
}

/// Who gives what a manager gives.
pub(super) const WHO: &str = "the program, through its manager";

/// One thing that was opened.
#[derive(Clone, Debug)]
pub(super) struct Allowed {
    pub(super) given: Given,
    /// The names of its grants.
    pub(super) ids: Vec<String>,
}

impl Allowed {
    /// The rule that opens it in a policy.
    pub(super) fn rule(&self) -> Option<Granted> {
        let id = self.ids.first().cloned().unwrap_or_else(|| "once".to_owned());
        rule(&self.given, id)
    }

    /// Whether rules are not enough.
    pub(super) fn needs_answers(&self) -> bool {
        needs_answers(self.given.kind)
    }
}

fn rule(given: &Given, id: String) -> Option<Granted> {
    let list = match given.kind {
        ViolationKind::Read => GrantedList::Read,
        ViolationKind::Write | ViolationKind::Create => GrantedList::Write,
        ViolationKind::Unix => GrantedList::Unix,
        ViolationKind::Connect | ViolationKind::Resolve => GrantedList::Domain,
        // A rule about a name keeps the name where it is.
        _ => return None,
    };
    Some(Granted { list, path: given.subject.clone().into(), id })
}

/// Rules open what is there. A name that is yet to be made, or that is to go, needs somebody who says yes
/// when it happens.
pub(super) fn needs_answers(kind: ViolationKind) -> bool {
    matches!(kind, ViolationKind::Create | ViolationKind::Unlink | ViolationKind::Rename)
}

/// The acts that are meant by one: who may make a file may also fill it.
pub(super) fn acts(kind: ViolationKind) -> Vec<ViolationKind> {
    match kind {
        ViolationKind::Create => vec![ViolationKind::Create, ViolationKind::Write],
        kind => vec![kind],
    }
}

/// Says yes to what was allowed for one run, and leaves everything else to whoever is asked otherwise.
pub(super) struct Opening {
    once: Vec<(ViolationKind, String)>,
    then: Option<Arc<dyn Asker>>,
}

impl Opening {
    pub(super) fn new(once: &[Given], then: Option<Arc<dyn Asker>>) -> Self {
        let each =
            |given: &Given| acts(given.kind).into_iter().map(|kind| (kind, given.subject.clone())).collect();
        Self { once: once.iter().flat_map::<Vec<_>, _>(each).collect(), then }
    }
}

impl Asker for Opening {
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply> {
        let about = |(kind, subject): &(ViolationKind, String)| {
            *kind == question.violation.kind && *subject == question.violation.subject
        };
        if self.once.iter().any(about) {
            return Box::pin(async { Reply::Once });
        }
        match &self.then {
            Some(asker) => asker.ask(question),
            None => Box::pin(async { Reply::Deny }),
        }
    }

    fn name(&self) -> String {
        self.then.as_ref().map_or_else(|| WHO.to_owned(), |asker| asker.name())
    }

    fn notice(&self, notice: crate::AskNotice) {
        if let Some(asker) = &self.then {
            asker.notice(notice);
        }
    }
}
