//! Events that wait for whoever follows a run, up to a bound.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stockade_policy::{Connection, Event};
use tokio::sync::Notify;

/// Where connections of this size wait, a command that makes them as fast as it can loses some of them.
const MOST: usize = 4 << 20;

/// Beside the texts in it.
const EACH: usize = size_of::<Connection>() + 64;

/// The end that events are put in at.
#[derive(Clone, Debug)]
pub(crate) struct Teller(Arc<Backlog>);

/// The end they come out at.
#[derive(Debug)]
pub(crate) struct Listener(Arc<Backlog>);

#[derive(Debug, Default)]
struct Backlog {
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    /// How large the connections among them are.
    size: usize,
    /// How many were left out behind these.
    missing: u64,
    /// Nobody listens.
    is_over: bool,
}

/// Events come out at the other end in order; of connections that nobody takes in time only how many there were.
pub(crate) fn backlog() -> (Teller, Listener) {
    let backlog = Arc::new(Backlog::default());
    (Teller(Arc::clone(&backlog)), Listener(backlog))
}

impl Backlog {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Whatever became of who held the lock, events are put in and taken out whole.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn put(&mut self, event: Event) {
        // Only connections come as fast as a command likes. Once some are missing, single ones in between would each
        // have a word about that beside them.
        let most = if self.missing > 0 { MOST / 2 } else { MOST };
        let size = size(&event);
        if size > 0 && self.size + size > most {
            self.missing += 1;
            return;
        }
        let missing = self.told_missing();
        self.events.extend(missing.into_iter().chain([event]));
        self.size += size;
    }

    fn take(&mut self) -> Option<Event> {
        let event = self.events.pop_front().or_else(|| self.told_missing())?;
        self.size -= size(&event);
        Some(event)
    }

    fn told_missing(&mut self) -> Option<Event> {
        let events = std::mem::take(&mut self.missing);
        (events > 0).then_some(Event::Missed { events })
    }
}

impl Teller {
    /// Tells of something. Gives it back where nobody listens any more.
    pub(crate) fn tell(&self, event: Event) -> Option<Event> {
        let mut waiting = self.0.waiting();
        if waiting.is_over {
            return Some(event);
        }
        waiting.put(event);
        drop(waiting);
        self.0.more.notify_one();
        None
    }
}

impl Listener {
    /// The next event. Never ends; may be dropped and called again.
    pub(crate) async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.take() {
                return event;
            }
            self.0.more.notified().await;
        }
    }

    /// The next event that is there already.
    pub(crate) fn take(&mut self) -> Option<Event> {
        self.0.waiting().take()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        *self.0.waiting() = Waiting { is_over: true, ..Waiting::default() };
    }
}

/// What counts for the bound.
fn size(event: &Event) -> usize {
    let Event::Connection(connection) = event else { return 0 };
    let Connection { target, address, method, path, rule, reason, program, .. } = &**connection;
    let texts = [address, method, path, reason, program].map(|text| text.as_ref().map_or(0, String::len));
    let rule = rule.as_ref().map_or(0, |rule| rule.text.len() + rule.origin.key.len());
    EACH + target.len() + texts.iter().sum::<usize>() + rule
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade_policy::{ConnectionVerdict, Via};

    fn connection(path: &str) -> Event {
        Event::Connection(Box::new(Connection {
            sandbox: "s".into(),
            via: Via::Transparent,
            target: "a.test:443".into(),
            address: None,
            method: None,
            path: Some(path.into()),
            status: None,
            verdict: ConnectionVerdict::Refused,
            rule: None,
            reason: None,
            sent: 0,
            received: 0,
            duration_ms: 0,
            pid: None,
            program: None,
        }))
    }

    #[tokio::test]
    async fn nobody_who_does_not_listen_fills_the_memory() {
        let (teller, mut listener) = backlog();
        let long = "x".repeat(MOST / 100);
        (0..200).for_each(|_| assert_eq!(teller.tell(connection(&long)), None));
        // What is no connection is not left out, and stands where it came.
        assert_eq!(teller.tell(Event::Truncated { limit: 1 }), None);
        assert_eq!(teller.tell(connection(&long)), None);
        let mut told = 0;
        let missed = loop {
            match listener.next().await {
                Event::Connection(_) => told += 1,
                event => break event,
            }
        };
        assert!((90..100).contains(&told), "{told}");
        assert_eq!(missed, Event::Missed { events: 200 - told });
        assert_eq!(listener.take(), Some(Event::Truncated { limit: 1 }));
        // It was told of those that are missing since, and there is room again.
        assert_eq!(listener.take(), Some(Event::Missed { events: 1 }));
        assert_eq!(listener.take(), None);
        assert_eq!(teller.tell(connection("again")), None);
        assert_eq!(listener.next().await, connection("again"));
        assert_eq!(listener.0.waiting().size, 0);
        drop(listener);
        assert_eq!(teller.tell(connection("gone")), Some(connection("gone")));
    }

    #[tokio::test]
    async fn whoever_waits_hears() {
        let (teller, mut listener) = backlog();
        let (heard, ()) = tokio::join!(listener.next(), async {
            tokio::task::yield_now().await;
            assert_eq!(teller.tell(connection("one")), None);
        });
        assert_eq!(heard, connection("one"));
    }
}
