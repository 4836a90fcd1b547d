//! Commands in the background, over all sandboxes a manager has had.

use crate::{BackgroundId, BackgroundOutput, BackgroundState, Session};
use std::collections::BTreeMap;

/// Ended commands whose output is kept.
const MOST_ENDED: usize = 64;

/// The commands by number.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    known: BTreeMap<u64, Task>,
    last: u64,
}

#[derive(Debug)]
struct Task {
    text: String,
    place: Place,
}

/// Where a command's output is.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// With its session.
    Session(Session, BackgroundId),
    /// Here: its session is gone.
    Here(Box<BackgroundOutput>),
}

/// A command in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundInfo {
    /// What it is asked about with.
    pub id: String,
    /// Its text.
    pub command: String,
    /// Whether it still runs.
    pub state: BackgroundState,
}

impl Tasks {
    /// Remembers a command, and gives it a name.
    pub(super) fn add(&mut self, text: &str, session: Session, id: BackgroundId) -> String {
        self.last += 1;
        self.known.insert(self.last, Task { text: text.to_owned(), place: Place::Session(session, id) });
        self.forget_oldest();
        name(self.last)
    }

    pub(super) fn find(&self, id: &str) -> Option<Place> {
        Some(self.known.get(&number(id)?)?.place.clone())
    }

    pub(super) fn list(&self) -> Vec<BackgroundInfo> {
        let info = |(number, task): (&u64, &Task)| BackgroundInfo {
            id: name(*number),
            command: task.text.clone(),
            state: task.place.state(),
        };
        self.known.iter().map(info).collect()
    }

    /// Whether a command runs in this session.
    pub(super) fn run_in(&self, session: &Session) -> bool {
        self.known
            .values()
            .any(|task| task.place.is_in(session) && task.place.state() == BackgroundState::Running)
    }

    /// Takes over what the commands of a session printed, which is about to go.
    pub(super) fn settle(&mut self, session: &Session) {
        for task in self.known.values_mut().filter(|task| task.place.is_in(session)) {
            if let Ok(output) = task.place.output(0) {
                let output = BackgroundOutput { state: BackgroundState::Over, ..output };
                task.place = Place::Here(Box::new(output));
            }
        }
    }

    fn forget_oldest(&mut self) {
        let ended = self.known.iter().filter(|(_, task)| task.place.state() == BackgroundState::Over);
        let ended: Vec<u64> = ended.map(|(number, _)| *number).collect();
        for number in ended.iter().take(ended.len().saturating_sub(MOST_ENDED)) {
            if let Some(Task { place: Place::Session(session, id), .. }) = self.known.remove(number) {
                session.forget_background(id);
            }
        }
    }
}

impl Place {
    fn is_in(&self, session: &Session) -> bool {
        matches!(self, Self::Session(known, _) if known.id() == session.id())
    }

    fn state(&self) -> BackgroundState {
        // What its session does not know any more is over.
        self.output(u64::MAX).map_or(BackgroundState::Over, |output| output.state)
    }

    /// What it printed from a piece on.
    pub(super) fn output(&self, from: u64) -> Result<BackgroundOutput, crate::SessionError> {
        match self {
            Self::Session(session, id) => session.poll(*id, from),
            Self::Here(output) => {
                let chunks = output.chunks.iter().filter(|chunk| chunk.seq >= from).cloned().collect();
                Ok(BackgroundOutput { chunks, ..(**output).clone() })
            }
        }
    }
}

fn name(number: u64) -> String {
    format!("b{number}")
}

fn number(name: &str) -> Option<u64> {
    name.strip_prefix('b')?.parse().ok()
}
