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

/// The host's own list of names.
const HOSTS: &str = "/etc/hosts";

/// Asks the host's own resolver.
///
/// A final dot keeps its search list out: a name that was judged must not be answered for by another one, nor
/// told to whoever serves the search domain. The hosts file does not know such spellings, and is read before.
/// A name of one label is meant to be completed.
fn resolve(name: &str) -> io::Result<Vec<IpAddr>> {
    let listed = listed(&std::fs::read_to_string(HOSTS).unwrap_or_default(), name);
    if !listed.is_empty() {
        return Ok(listed);
    }
    let absolute = if name.contains('.') { format!("{name}.") } else { name.to_owned() };
    let mut addresses = Vec::new();
    for address in (absolute.as_str(), 0).to_socket_addrs()?.map(|found| found.ip().to_canonical()) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

/// The addresses that a hosts file gives a name.
fn listed(hosts: &str, name: &str) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    for line in hosts.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
        let address = words.next().and_then(|word| word.parse::<IpAddr>().ok());
        let named = words.any(|word| word.trim_end_matches('.').eq_ignore_ascii_case(name));
        if let Some(address) = address.map(|address| address.to_canonical())
            && named
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_file_knows_names_without_a_final_dot() {
        let hosts = "127.0.0.1 localhost\n# 192.0.2.1 a.test\n192.0.2.2\tb.test  A.test. # a.test\nbroken a.test\n\
                     2001:db8::2 a.test\n::ffff:192.0.2.2 a.test\n";
        let expected: Vec<IpAddr> = vec!["192.0.2.2".parse().unwrap(), "2001:db8::2".parse().unwrap()];
        assert_eq!(listed(hosts, "a.test"), expected);
        assert_eq!(listed(hosts, "a.test.example.org"), Vec::<IpAddr>::new());
        assert!(!resolve("localhost").unwrap().is_empty());
    }

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
