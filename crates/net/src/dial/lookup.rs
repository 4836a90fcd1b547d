//! Looking names up, once for everybody who asks at the same time.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, Semaphore};

/// How long an answer is believed: long enough for a page with many parts, too short to outlive a change.
const FRESH: Duration = Duration::from_secs(30);
/// How long a name that could not be looked up stays so.
const FRESH_FAILURE: Duration = Duration::from_secs(2);
/// Names remembered at once.
const MOST_NAMES: usize = 1024;
/// Lookups at once; each holds a thread of the runtime.
const MOST_LOOKUPS: usize = 16;
/// How long a lookup may take, the wait for its turn included.
const TIME: Duration = Duration::from_secs(20);

type Answer = Result<Arc<[IpAddr]>, (io::ErrorKind, String)>;

/// Looks names up with the host's own resolver.
#[derive(Debug)]
pub(crate) struct Lookups {
    names: Mutex<HashMap<String, Slot>>,
    turns: Arc<Semaphore>,
    resolve: fn(&str) -> io::Result<Vec<IpAddr>>,
}

#[derive(Clone, Debug)]
struct Slot {
    asked: Instant,
    answer: Arc<OnceCell<Answer>>,
}

impl Slot {
    fn is_fresh(&self, now: Instant) -> bool {
        let fresh = match self.answer.get() {
            Some(Err(_)) => FRESH_FAILURE,
            Some(Ok(_)) | None => FRESH,
        };
        now.duration_since(self.asked) < fresh
    }
}

impl Default for Lookups {
    fn default() -> Self {
        Self { names: Mutex::default(), turns: Arc::new(Semaphore::new(MOST_LOOKUPS)), resolve }
    }
}

impl Lookups {
    /// The addresses of a name that may be looked up. Judging it is the caller's, before.
    pub(crate) async fn addresses(&self, name: &str) -> io::Result<Arc<[IpAddr]>> {
        let answer = self.slot(name);
        let looked = tokio::time::timeout(TIME, answer.get_or_init(|| self.ask(name))).await;
        match looked {
            Ok(Ok(addresses)) => Ok(Arc::clone(addresses)),
            Ok(Err((kind, text))) => Err(io::Error::new(*kind, text.clone())),
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the name could not be looked up in time")),
        }
    }

    async fn ask(&self, name: &str) -> Answer {
        let failed = |error: io::Error| (error.kind(), error.to_string());
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|error| failed(io::Error::other(error)))?;
        let (resolve, name) = (self.resolve, name.to_owned());
        // Nobody can call the thread back: the turn is its own, whether or not somebody still waits for it.
        let looked = tokio::task::spawn_blocking(move || {
            let found = resolve(&name);
            drop(turn);
            found
        });
        let found = looked.await.map_err(|error| failed(io::Error::other(error)))?;
        found.map(Into::into).map_err(failed)
    }

    fn slot(&self, name: &str) -> Arc<OnceCell<Answer>> {
        let mut names = self.names();
        let now = Instant::now();
        match names.get(name) {
            Some(slot) if slot.is_fresh(now) => return Arc::clone(&slot.answer),
            _ => {}
        }
        if names.len() >= MOST_NAMES {
            names.retain(|_, slot| slot.is_fresh(now));
        }
        if names.len() >= MOST_NAMES {
            // Those who wait for an answer have it by other hands.
            names.clear();
        }
        let slot = Slot { asked: now, answer: Arc::default() };
        let answer = Arc::clone(&slot.answer);
        names.insert(name.to_owned(), slot);
        answer
    }

    fn names(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails for a name without asking anybody.
    #[cfg(test)]
    pub(crate) fn know_failure(&self, name: &str, error: &io::Error) {
        let answer = Arc::new(OnceCell::new_with(Some(Err((error.kind(), error.to_string())))));
        // Longer than failures are believed.
        self.names().insert(name.to_owned(), Slot { asked: Instant::now() + FRESH, answer });
    }

    /// Answers for a name without asking anybody.
    #[cfg(test)]
    pub(crate) fn know(&self, name: &str, addresses: &[IpAddr]) {
        let answer = Arc::new(OnceCell::new_with(Some(Ok(addresses.into()))));
        self.names().insert(name.to_owned(), Slot { asked: Instant::now(), answer });
    }
}

/// Asks the host's own resolver.
fn resolve(name: &str) -> io::Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    // Without a final dot, like every program of the host: its hosts file knows names without only.
    for address in (name, 0).to_socket_addrs()?.map(|found| found.ip().to_canonical()) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lookup_that_nobody_waits_for_keeps_its_turn() {
        let slow = |_: &str| {
            std::thread::sleep(Duration::from_millis(300));
            Ok(Vec::new())
        };
        let lookups = Lookups { resolve: slow, ..Lookups::default() };
        let waited = tokio::time::timeout(Duration::from_millis(50), lookups.addresses("slow.test")).await;
        assert!(waited.is_err());
        assert_eq!(lookups.turns.available_permits(), MOST_LOOKUPS - 1);
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert_eq!(lookups.turns.available_permits(), MOST_LOOKUPS);
    }

    #[tokio::test]
    async fn names_of_this_machine() {
        let lookups = Lookups::default();
        let addresses = lookups.addresses("localhost").await.unwrap();
        assert!(addresses.iter().all(IpAddr::is_loopback) && !addresses.is_empty());
        let again = lookups.addresses("localhost").await.unwrap();
        assert!(Arc::ptr_eq(&addresses, &again), "the second is the first one's answer");
    }

    #[tokio::test]
    async fn the_table_has_an_end() {
        let lookups = Lookups::default();
        for number in 0..3 * MOST_NAMES {
            lookups.know(&format!("n{number}.test"), &[]);
            lookups.slot(&format!("m{number}.test"));
            assert!(lookups.names().len() <= MOST_NAMES + 1);
        }
    }
}
