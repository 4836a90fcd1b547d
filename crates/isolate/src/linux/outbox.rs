//! Events on their way to whoever follows a command.

use std::collections::VecDeque;
use stockade_policy::Event;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Hands events over without ever waiting for whoever does not take them: the time limit and the caller's signals
/// have to act meanwhile.
pub(super) struct Outbox {
    events: mpsc::Sender<Event>,
    /// There is an end to them: output comes only where there is room for it, refusals beyond a number are
    /// counted, and each question holds a call.
    waiting: VecDeque<Event>,
}

impl Outbox {
    /// One that has room for so many events before the first has to wait.
    pub(super) fn new(room: usize) -> (Self, mpsc::Receiver<Event>) {
        let (events, receiver) = mpsc::channel(room);
        (Self { events, waiting: VecDeque::new() }, receiver)
    }

    /// Tells of something, at once or as soon as there is room.
    pub(super) fn tell(&mut self, event: Event) {
        self.waiting.push_back(event);
        self.pass_on();
    }

    /// Hands over what there is room for.
    pub(super) fn pass_on(&mut self) {
        while let Some(event) = self.waiting.pop_front() {
            match self.events.try_send(event) {
                Ok(()) => {}
                Err(TrySendError::Full(event)) => return self.waiting.push_front(event),
                // Nobody wants to know.
                Err(TrySendError::Closed(_)) => self.waiting.clear(),
            }
        }
    }

    /// Ready when something waits and there is room for it.
    pub(super) async fn may_pass_on(&self) {
        match self.waiting.is_empty() {
            true => std::future::pending().await,
            false => drop(self.events.reserve().await),
        }
    }

    /// Ready when there is room for output, which may wait where it is. A reader that is gone holds nothing up.
    pub(super) async fn has_room(&self) {
        match self.waiting.is_empty() {
            true => drop(self.events.reserve().await),
            false => std::future::pending().await,
        }
    }

    /// Whether anything waits.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn numbered(limit: u64) -> Event {
        Event::Truncated { limit }
    }

    #[tokio::test]
    async fn nobody_is_waited_for_and_nothing_is_lost() {
        let (mut outbox, mut receiver) = Outbox::new(2);
        (0..10).for_each(|number| outbox.tell(numbered(number)));
        let soon = Duration::from_millis(20);
        assert!(tokio::time::timeout(soon, outbox.has_room()).await.is_err());
        assert!(tokio::time::timeout(soon, outbox.may_pass_on()).await.is_err());
        assert_eq!(receiver.recv().await, Some(numbered(0)));
        outbox.may_pass_on().await;
        outbox.pass_on();
        // What comes later does not overtake what waits.
        outbox.tell(numbered(10));
        for number in 1..=10 {
            assert_eq!(receiver.recv().await, Some(numbered(number)));
            outbox.pass_on();
        }
        assert!(!outbox.is_waiting());
        outbox.has_room().await;
    }

    #[tokio::test]
    async fn whoever_is_gone_holds_nothing_up() {
        let (mut outbox, receiver) = Outbox::new(1);
        (0..3).for_each(|number| outbox.tell(numbered(number)));
        drop(receiver);
        outbox.may_pass_on().await;
        outbox.pass_on();
        outbox.tell(numbered(3));
        assert!(!outbox.is_waiting());
        outbox.has_room().await;
    }
}
