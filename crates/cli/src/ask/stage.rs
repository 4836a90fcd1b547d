//! The person's terminal, which the command's output and our questions take turns on.

use std::sync::Arc;
use tokio::sync::{Mutex, MutexGuard, watch};

/// Whose turn it is. Copies are the same stage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stage {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    screen: Mutex<()>,
    /// Questions that are shown or wait to be.
    questions: watch::Sender<usize>,
}

/// The stage, for as long as a question stands.
pub(crate) struct Asking<'a> {
    _screen: MutexGuard<'a, ()>,
    _counted: Counted<'a>,
}

struct Counted<'a>(&'a Shared);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.questions.send_modify(|count| *count -= 1);
    }
}

impl Stage {
    /// A turn for showing output; comes when no question stands.
    pub(crate) async fn output(&self) -> MutexGuard<'_, ()> {
        self.shared.screen.lock().await
    }

    /// A turn for a question. What is typed is ours from the moment this is called.
    pub(crate) async fn question(&self) -> Asking<'_> {
        self.shared.questions.send_modify(|count| *count += 1);
        let counted = Counted(&self.shared);
        Asking { _screen: self.shared.screen.lock().await, _counted: counted }
    }

    /// Whether a question stands.
    pub(crate) fn is_asking(&self) -> bool {
        *self.shared.questions.borrow() > 0
    }

    /// Comes back when a question stands.
    pub(crate) async fn asking(&self) {
        // The sender is ours, so that the wait cannot fail.
        let _ = self.shared.questions.subscribe().wait_for(|count| *count > 0).await;
    }

    /// Comes back when none stands.
    pub(crate) async fn quiet(&self) {
        let _ = self.shared.questions.subscribe().wait_for(|count| *count == 0).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn output_waits_for_the_answer() {
        let stage = Stage::default();
        drop(stage.output().await);
        let question = stage.question().await;
        assert!(stage.is_asking());
        assert!(timeout(SOON, stage.output()).await.is_err());
        assert!(timeout(SOON, stage.quiet()).await.is_err());
        assert!(timeout(SOON, stage.asking()).await.is_ok());
        // A second question waits for the first, and stands already as far as typing goes.
        let copy = stage.clone();
        let second = tokio::spawn(async move { drop(copy.question().await) });
        tokio::time::sleep(SOON).await;
        drop(question);
        second.await.unwrap();
        stage.quiet().await;
        drop(stage.output().await);
    }

    #[tokio::test]
    async fn a_question_given_up_while_waiting_does_not_count() {
        let stage = Stage::default();
        let output = stage.output().await;
        assert!(timeout(SOON, stage.question()).await.is_err());
        assert!(!stage.is_asking());
        drop(output);
    }
}
