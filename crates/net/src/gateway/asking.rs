//! Questions to a person: one for everybody who waits for the same thing.

use super::ward::Ward;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use stockade_policy::{NetRefusal, Reply};
use tokio::sync::watch;

/// More different questions at once are a flood, and a flood is refused.
const MOST_QUESTIONS: usize = 64;
/// More connections that wait for answers than this are refused.
const MOST_WAITING: usize = 1024;
/// More answers than this are not remembered: the person is asked again.
const MOST_REMEMBERED: usize = 4096;

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    Yes,
    /// A person said no, or nobody did in time. The witness knows of this attempt.
    No,
    /// Nobody was asked, because nobody can be or because the answer is known. The witness has to be told.
    Unasked,
}

/// Open questions and remembered answers, by the subject of the refusal.
#[derive(Debug, Default)]
pub(super) struct Questions {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<String, watch::Receiver<Option<Reply>>>,
    waiting: usize,
    remembered: HashMap<String, Remembered>,
}

/// How long a no holds. Programs try a host's other address next, and nobody wants to say no to each.
const NO_FOR: Duration = Duration::from_secs(3);

/// How long an answer holds.
#[derive(Clone, Copy, Debug)]
enum Remembered {
    Always,
    Until(u64),
    NotUntil(Instant),
}

impl Questions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, subject: &str, reply: Reply) {
        let mut state = self.state();
        let remembered = match reply {
            Reply::Session | Reply::Always => Remembered::Always,
            Reply::Until { until } => Remembered::Until(until),
            Reply::Deny => Remembered::NotUntil(Instant::now() + NO_FOR),
            Reply::Once => return,
        };
        if state.remembered.len() >= MOST_REMEMBERED {
            state.remembered.retain(|_, remembered| remembered.holds());
        }
        if state.remembered.len() < MOST_REMEMBERED {
            state.remembered.insert(subject.to_owned(), remembered);
        }
    }

    fn remembered(state: &mut State, subject: &str) -> Option<Answered> {
        let remembered = *state.remembered.get(subject)?;
        if !remembered.holds() {
            state.remembered.remove(subject);
            return None;
        }
        Some(match remembered {
            Remembered::Always | Remembered::Until(_) => Answered::Yes,
            Remembered::NotUntil(_) => Answered::Unasked,
        })
    }
}

impl Remembered {
    fn holds(self) -> bool {
        match self {
            Self::Always => true,
            Self::Until(until) => until > now(),
            Self::NotUntil(until) => until > Instant::now(),
        }
    }
}

/// One connection that waits.
struct Waiting<'a>(&'a Questions);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

/// An open question, closed however it ends.
struct Open {
    ward: Arc<Ward>,
    subject: String,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.ward.questions.state().open.remove(&self.subject);
    }
}

impl Ward {
    /// Asks, or joins whoever asked the same already. `Once` is a yes for all who waited for that answer.
    pub(super) async fn ask(self: &Arc<Self>, refusal: &NetRefusal) -> Answered {
        let subject = &refusal.subject;
        let (mut answer, no, _waiting) = {
            let mut state = self.questions.state();
            if let Some(answered) = Questions::remembered(&mut state, subject) {
                return answered;
            }
            if state.waiting >= MOST_WAITING {
                return Answered::Unasked;
            }
            // The witness hears of one attempt when it is asked; each of the others is one more.
            let (answer, no) = match state.open.get(subject) {
                Some(open) => (open.clone(), Answered::Unasked),
                None if state.open.len() >= MOST_QUESTIONS => return Answered::Unasked,
                None => {
                    let (sender, receiver) = watch::channel(None);
                    state.open.insert(subject.clone(), receiver.clone());
                    self.put(refusal.clone(), sender);
                    (receiver, Answered::No)
                }
            };
            state.waiting += 1;
            (answer, no, Waiting(&self.questions))
        };
        // A question that ends without an answer is a no.
        match answer.wait_for(Option::is_some).await.ok().and_then(|reply| *reply) {
            None | Some(Reply::Deny) => no,
            Some(Reply::Once | Reply::Session | Reply::Until { .. } | Reply::Always) => Answered::Yes,
        }
    }

    /// Puts the question in a task of its own: whoever asked first may be gone before the answer comes.
    fn put(self: &Arc<Self>, refusal: NetRefusal, sender: watch::Sender<Option<Reply>>) {
        let open = Open { ward: Arc::clone(self), subject: refusal.subject.clone() };
        let peer = crate::peer::peer();
        self.spawn(async move {
            let reply = open.ward.witness().ask(&refusal, peer).await;
            open.ward.questions.remember(&open.subject, reply);
            drop(open);
            sender.send_replace(Some(reply));
        });
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_no_longer_hold_make_room() {
        let questions = Questions::default();
        for number in 0..MOST_REMEMBERED {
            questions.remember(&format!("n{number}.test"), Reply::Until { until: number as u64 });
        }
        questions.remember("new.test", Reply::Session);
        let mut state = questions.state();
        assert_eq!(Questions::remembered(&mut state, "new.test"), Some(Answered::Yes));
        assert_eq!(state.remembered.len(), 1);
    }
}
