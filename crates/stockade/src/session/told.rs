//! What callers are told besides what their own command does.
//!
//! Everything is told once, and to somebody: what happened while nobody listened waits for the next command. Only
//! the end of a shell concerns several, those who had asked for it before they could know.

use super::handle::{Inner, Session};
use std::sync::Arc;
use stockade_policy::{Decision, Event, Notice, NoticeWeight, Verdict};

/// How the [`Notice`] begins that says that a command runs outside of the sandbox.
pub const WITHOUT_WALLS: &str = "this runs WITHOUT walls";

/// What the callers of a session know of its shells.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// How often somebody was told that a shell is a new one.
    restarts: u64,
    /// What was said the last time.
    last: Option<Event>,
    /// What was to be told to somebody who had no ear for it.
    owed: Vec<Event>,
}

/// What a caller could know when it asked for the shell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known(u64);

impl Inner {
    /// To be noted before the shell is waited for.
    pub(super) fn known(&self) -> Known {
        Known(self.common().told.restarts)
    }

    /// Somebody is told that the shell is a new one; whoever waits for it by now is told the same.
    pub(super) fn note_restart(&self, event: &Event) {
        let told = &mut self.common().told;
        told.restarts += 1;
        told.last = Some(event.clone());
    }

    /// Adds what the caller has missed since it asked, and what nobody has heard.
    pub(super) fn catch_up(&self, known: Known, events: &mut Vec<Event>) {
        if !events.iter().any(is_restart) {
            let common = self.common();
            events.extend(common.told.last.clone().filter(|_| common.told.restarts != known.0));
        }
        for event in self.news() {
            if !events.contains(&event) {
                events.push(event);
            }
        }
    }

    /// What the next command has to hear because nobody did.
    pub(super) fn news(&self) -> Vec<Event> {
        let (mut events, walls, runtime) = {
            let mut common = self.common();
            let owed = std::mem::take(&mut common.told.owed);
            (owed, common.walls.clone(), Arc::clone(&common.runtime))
        };
        match walls {
            Some(walls) => events.extend(walls.news()),
            None => events.extend(runtime.reload().unheard_events()),
        }
        events
    }

    /// Keeps for the next command what this one cannot be told.
    pub(super) fn owe(&self, events: impl IntoIterator<Item = Event>) {
        let lasting = events.into_iter().filter(|event| is_restart(event) || is_about_settings(event));
        self.common().told.owed.extend(lasting);
    }
}

impl Session {
    /// Keeps what nobody has heard for the next command, where it is of use to that one.
    pub(crate) fn owe(&self, event: Event) {
        self.inner.owe([event]);
    }
}

/// Says loudly that a command runs outside.
pub(super) fn without_walls(decision: &Decision) -> Vec<Event> {
    if decision.verdict != Verdict::Unsandboxed {
        return Vec::new();
    }
    let text = format!("{WITHOUT_WALLS}: {}", decision.reason);
    vec![Event::Notice(Notice { weight: NoticeWeight::Warning, text })]
}

fn is_restart(event: &Event) -> bool {
    matches!(event, Event::Restarted { .. })
}

pub(super) fn is_about_settings(event: &Event) -> bool {
    matches!(event, Event::SettingsReloaded { .. } | Event::SettingsRejected { .. })
}
