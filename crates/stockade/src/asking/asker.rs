//! Who answers.

use super::Question;
use crate::GrantError;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use stockade_isolate::BoxFuture;
use stockade_policy::Reply;

/// Somebody who can be asked.
///
/// Several questions may be open at once. A question whose answer nobody waits for any more — the time is
/// up, the command has ended — is withdrawn by dropping the future.
///
/// Any `Fn(Question) -> impl Future<Output = Reply>` is one:
///
/// ```
/// use stockade::{CommandLine, Question, Reply, Runtime};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let place = tempfile::tempdir_in("/var/tmp")?;
/// # let workspace = place.path().join("project");
/// # let cache = place.path().join("cache");
/// # std::fs::create_dir(&workspace)?;
/// # std::fs::create_dir(&cache)?;
/// // Outside the workspace nothing may be changed; what is below the cache is worth a yes.
/// let allowed = cache.clone();
/// let runtime = Runtime::builder()
///     .cwd(&workspace)
///     .asker(move |question: Question| {
///         let below = std::path::Path::new(&question.violation.subject).starts_with(&allowed);
///         async move { if below { Reply::Session } else { Reply::Deny } }
///     })
///     .build()?;
///
/// // The command waits in its system call, and the same command goes on.
/// let text = format!("echo kept > {0}/a && cat {0}/a", cache.display());
/// let done = runtime.run(CommandLine::Shell(text.into())).await?;
/// assert_eq!(done.stdout, b"kept\n");
/// assert!(done.outcome.violations.is_empty());
///
/// let text = format!("echo lost > {}/b", place.path().display());
/// let done = runtime.run(CommandLine::Shell(text.into())).await?;
/// assert_ne!(done.outcome.exit_code, 0);
/// assert_eq!(done.outcome.violations.len(), 1);
/// # Ok(())
/// # }
/// ```
pub trait Asker: Send + Sync {
    /// Puts a question. Whatever happens instead of an answer is a no.
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply>;

    /// Who that is, for the list of grants.
    fn name(&self) -> String {
        "callback".to_owned()
    }

    /// Something the person behind it should know.
    fn notice(&self, notice: AskNotice) {
        drop(notice);
    }
}

impl<F, A> Asker for F
where
    F: Fn(Question) -> A + Send + Sync,
    A: Future<Output = Reply> + Send + 'static,
{
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply> {
        Box::pin(self(question))
    }
}

/// What an asker is told besides questions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskNotice {
    /// Told once: from now on some questions are not put.
    #[error("too many questions: acts beyond the limit are refused without asking")]
    Limited,
    /// The grant holds, but not as long as was said.
    #[error("the grant holds for this session only: {0}")]
    NotKept(GrantError),
    /// The answer could not be followed.
    #[error("the answer is taken for a no: {0}")]
    NotGiven(GrantError),
}

/// An asker that several runs share.
#[derive(Clone)]
pub(crate) struct SharedAsker(pub(crate) Arc<dyn Asker>);

impl fmt::Debug for SharedAsker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("SharedAsker").field(&self.0.name()).finish()
    }
}
