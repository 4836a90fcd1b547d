//! Questions and answers on record.

use super::Journal;
use crate::{AskNotice, Asker, AuditEvent, Question};
use std::sync::Arc;
use std::time::Instant;
use stockade_isolate::BoxFuture;
use stockade_policy::{Ask, Reply};

/// An asker whose questions and answers go to the audit log.
pub(crate) struct AuditedAsker {
    asker: Arc<dyn Asker>,
    journal: Arc<Journal>,
}

impl AuditedAsker {
    pub(crate) fn new(asker: Arc<dyn Asker>, journal: Arc<Journal>) -> Self {
        Self { asker, journal }
    }
}

impl Asker for AuditedAsker {
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            let (id, violation) = (question.id, question.violation.clone());
            let sandbox = violation.sandbox.clone();
            let ask = Ask { id, violation, reason: question.reason.clone() };
            if self.journal.note(&AuditEvent::Ask { ask }).is_err() {
                return Reply::Deny;
            }
            let mut open =
                Open { journal: &self.journal, sandbox, id, deadline: question.deadline, over: false };
            let reply = self.asker.ask(question).await;
            open.answered(reply, self.asker.name())
        })
    }

    fn name(&self) -> String {
        self.asker.name()
    }

    fn notice(&self, notice: AskNotice) {
        self.asker.notice(notice);
    }
}

/// A question that stands. Dropped without an answer, it says so.
struct Open<'a> {
    journal: &'a Journal,
    sandbox: String,
    id: u64,
    deadline: Instant,
    over: bool,
}

impl Open<'_> {
    /// What the answer comes to: one that must be on record and is not is a no.
    fn answered(&mut self, reply: Reply, who: String) -> Reply {
        self.over = true;
        let event =
            AuditEvent::Answer { sandbox: std::mem::take(&mut self.sandbox), id: self.id, reply, who };
        if self.journal.note(&event).is_ok() { reply } else { Reply::Deny }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.over {
            let who = if Instant::now() >= self.deadline { "timeout" } else { "withdrawn" };
            self.answered(Reply::Deny, who.to_owned());
        }
    }
}
