//! The questions of one run.

use super::Desk;
use std::sync::Arc;
use stockade_policy::{Ask, Reply};
use tokio::task::JoinSet;

/// Held calls of one run, each waiting for its answer. Dropping it withdraws its questions.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    desk: Option<Arc<Desk>>,
    answers: JoinSet<(u64, Reply)>,
}

impl Waiting {
    pub(crate) fn new(desk: Option<Arc<Desk>>) -> Self {
        Self { desk, answers: JoinSet::new() }
    }

    /// Begins to wait for an answer.
    pub(crate) fn begin(&mut self, ask: Ask) {
        let (id, desk) = (ask.id, self.desk.clone());
        self.answers.spawn(async move {
            match desk {
                Some(desk) => (id, desk.answer(ask).await),
                None => (id, Reply::Deny),
            }
        });
    }

    /// The next answer. Never ends when nothing was asked; may be dropped and called again.
    pub(crate) async fn next(&mut self) -> (u64, Reply) {
        loop {
            match self.answers.join_next().await {
                Some(Ok(answer)) => return answer,
                // The engine refuses what it gets no answer to.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Nobody waits for answers any more.
    pub(crate) fn end(&mut self) {
        self.answers.abort_all();
    }
}
