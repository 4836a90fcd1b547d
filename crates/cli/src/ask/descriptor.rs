//! `--ask fd:N`: questions and answers as JSON lines.

use super::lines::{Cut, LONGEST, Lines};
use super::wire::{self, AskLine, Mistake, Said};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use stockade::{AskNotice, Asker, BoxFuture, Inlet, Outlet, Question, Reply};
use tokio::sync::{mpsc, oneshot};

/// Lines that may wait for a reader. One who reads nothing gets no more, and is not waited for.
const BACKLOG: usize = 256;

/// Asks a program over one descriptor, or one for each direction.
pub(crate) struct DescriptorAsker {
    name: String,
    shared: Arc<Shared>,
    /// Until the first question is put.
    ends: Mutex<Option<Ends>>,
}

struct Ends {
    input: OwnedFd,
    output: OwnedFd,
    queue: mpsc::Receiver<Vec<u8>>,
}

struct Shared {
    open: Mutex<Open>,
    lines: mpsc::Sender<Vec<u8>>,
}

/// Questions without an answer.
#[derive(Default)]
struct Open {
    questions: HashMap<u64, (Offer, oneshot::Sender<Reply>)>,
    /// Nobody is there any more.
    over: bool,
}

/// What may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offer {
    Everything,
    /// Nothing that outlives the run.
    Passing,
}

/// A question that was put; tells the other side when it is withdrawn.
struct Put<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Put<'_> {
    fn drop(&mut self) {
        if self.shared.open().questions.remove(&self.id).is_some() {
            self.shared.say(&Said::Expired { id: self.id });
        }
    }
}

impl DescriptorAsker {
    pub(crate) fn new(name: String, input: OwnedFd, output: OwnedFd) -> Self {
        let (lines, queue) = mpsc::channel(BACKLOG);
        let shared = Arc::new(Shared { open: Mutex::default(), lines });
        Self { name, shared, ends: Mutex::new(Some(Ends { input, output, queue })) }
    }

    /// Begins to listen; needs a tokio runtime, which there is not yet when this is made.
    fn begin(&self) {
        let Some(ends) = self.ends.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        match (Inlet::new(ends.input), Outlet::new(ends.output)) {
            (Ok(from), Ok(to)) => {
                tokio::spawn(listen(Arc::clone(&self.shared), from));
                tokio::spawn(speak(Arc::clone(&self.shared), ends.queue, to));
            }
            _ => self.shared.close(),
        }
    }
}

impl Asker for DescriptorAsker {
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply> {
        self.begin();
        Box::pin(async move {
            let (tell, answer) = oneshot::channel();
            let offer = if question.settings.is_some() { Offer::Everything } else { Offer::Passing };
            // Nobody can foresee it: what was said before this question was put, or about one of another run on
            // the same descriptor, names another.
            let id = question.id;
            {
                let mut open = self.shared.open();
                if open.over {
                    return Reply::Deny;
                }
                open.questions.insert(id, (offer, tell));
            }
            let _put = Put { shared: &self.shared, id };
            if !self.shared.say(&Said::Ask(Box::new(AskLine::new(&question)))) {
                return Reply::Deny;
            }
            answer.await.unwrap_or(Reply::Deny)
        })
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn notice(&self, notice: AskNotice) {
        self.begin();
        self.shared.say(&Said::Notice { message: &notice.to_string() });
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a line; says whether there was room.
    fn say(&self, said: &Said<'_>) -> bool {
        let Ok(mut line) = serde_json::to_vec(said) else { return false };
        line.push(b'\n');
        self.lines.try_send(line).is_ok()
    }

    /// From now on everything is a no.
    fn close(&self) {
        let mut open = self.open();
        open.over = true;
        open.questions.clear();
    }

    fn hear(&self, line: &[u8]) -> Result<(), Mistake> {
        let answer = wire::read(line, now())?;
        let mistake = |message: &str| Mistake { id: Some(answer.id), message: message.to_owned() };
        let mut open = self.open();
        match open.questions.get(&answer.id) {
            None => return Err(mistake("no such question is open")),
            Some((Offer::Passing, _)) if matches!(answer.reply, Reply::Always | Reply::Until { .. }) => {
                return Err(mistake("this cannot be allowed beyond the run"));
            }
            Some(_) => {}
        }
        if let Some((_, tell)) = open.questions.remove(&answer.id) {
            // A question withdrawn at this very moment needs no answer.
            let _ = tell.send(answer.reply);
        }
        Ok(())
    }
}

async fn listen(shared: Arc<Shared>, mut from: Inlet) {
    let mut lines = Lines::default();
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        for cut in lines.push(&buffer[..count]) {
            let heard = match cut {
                Cut::Line(line) if line.trim_ascii().is_empty() => Ok(()),
                Cut::Line(line) => shared.hear(&line),
                Cut::TooLong => {
                    Err(Mistake { id: None, message: format!("a line is longer than {LONGEST} bytes") })
                }
            };
            if let Err(Mistake { id, message }) = heard {
                shared.say(&Said::Error { id, message: &message });
            }
        }
    }
    shared.close();
}

async fn speak(shared: Arc<Shared>, mut queue: mpsc::Receiver<Vec<u8>>, mut to: Outlet) {
    while let Some(line) = queue.recv().await {
        if write(&mut to, &line).await.is_err() {
            shared.close();
            return;
        }
    }
}

async fn write(to: &mut Outlet, mut line: &[u8]) -> io::Result<()> {
    while !line.is_empty() {
        match to.write(line).await {
            Ok(count) => line = &line[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "descriptor_tests.rs"]
mod tests;
