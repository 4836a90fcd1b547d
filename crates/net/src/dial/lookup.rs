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
/// Lookups of one rank at once; each holds a thread of the runtime.
const MOST_LOOKUPS: usize = 16;
/// How long a lookup may take, the wait for its turn included.
const TIME: Duration = Duration::from_secs(20);
/// How long a name that may be made up waits for its turn. Where nobody answers for those before it, it is
/// better told at once than when the program has given up.
const TURN: Duration = Duration::from_secs(2);

type Answer = Result<Arc<[IpAddr]>, (io::ErrorKind, String)>;

/// Looks names up with the host's own resolver.
#[derive(Debug)]
pub(crate) struct Lookups {
    names: Mutex<HashMap<String, Slot>>,
    /// Those who wait for their turn, by rank.
    turns: [Arc<Semaphore>; 3],
    resolve: fn(&str) -> io::Result<Vec<IpAddr>>,
}

/// What a rule says of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// It is named.
    Named,
    /// It is one of many that are not.
    Among,
}

/// Whom a name waits for: those of its own rank. Below a wildcard a program can make up any number of names
/// that nobody answers for, and each holds a thread for as long as the host's resolver is patient. Names that
/// somebody wrote down are few, and those that were answered for are not made up: neither waits for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    Named,
    Known,
    New,
}

#[derive(Clone, Debug)]
struct Slot {
    asked: Instant,
    answer: Arc<OnceCell<Answer>>,
    rank: Rank,
}

impl Slot {
    fn has_addresses(&self) -> bool {
        matches!(self.answer.get(), Some(Ok(addresses)) if !addresses.is_empty())
    }

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
        let turns = [(); 3].map(|()| Arc::new(Semaphore::new(MOST_LOOKUPS)));
        Self { names: Mutex::default(), turns, resolve }
    }
}

impl Lookups {
    /// The addresses of a name that may be looked up. Judging it is the caller's, before.
    pub(crate) async fn addresses(&self, name: &str, listing: Listing) -> io::Result<Arc<[IpAddr]>> {
        let (answer, known) = self.slot(name);
        let rank = if listing == Listing::Named { Rank::Named } else { known };
        let looked = tokio::time::timeout(TIME, answer.get_or_init(|| self.ask(name, rank))).await;
        match looked {
            Ok(Ok(addresses)) => Ok(Arc::clone(addresses)),
            Ok(Err((kind, text))) => Err(io::Error::new(*kind, text.clone())),
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the name could not be looked up in time")),
        }
    }

    async fn ask(&self, name: &str, rank: Rank) -> Answer {
        let failed = |error: io::Error| (error.kind(), error.to_string());
        let turn = Arc::clone(&self.turns[rank as usize]).acquire_owned();
        let patience = if rank == Rank::New { TURN } else { TIME };
        let turn = tokio::time::timeout(patience, turn).await.map_err(|_| {
            failed(io::Error::new(io::ErrorKind::TimedOut, "too many names wait that nobody answers for"))
        })?;
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

    /// Where the answer will be, and the rank of a name that no rule names.
    fn slot(&self, name: &str) -> (Arc<OnceCell<Answer>>, Rank) {
        let mut names = self.names();
        let now = Instant::now();
        let rank = match names.get(name) {
            Some(slot) if slot.is_fresh(now) => return (Arc::clone(&slot.answer), slot.rank),
            Some(slot) if slot.has_addresses() => Rank::Known,
            _ => Rank::New,
        };
        if names.len() >= MOST_NAMES {
            names.retain(|_, slot| slot.is_fresh(now));
        }
        if names.len() >= MOST_NAMES {
            // Those who wait for an answer have it by other hands.
            names.clear();
        }
        let slot = Slot { asked: now, answer: Arc::default(), rank };
        let answer = Arc::clone(&slot.answer);
        names.insert(name.to_owned(), slot);
        (answer, rank)
    }

    fn names(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails for a name without asking anybody.
    #[cfg(test)]
    pub(crate) fn know_failure(&self, name: &str, error: &io::Error) {
        let answer = Arc::new(OnceCell::new_with(Some(Err((error.kind(), error.to_string())))));
        // Longer than failures are believed.
        let slot = Slot { asked: Instant::now() + FRESH, answer, rank: Rank::New };
        self.names().insert(name.to_owned(), slot);
    }

    /// Answers for a name without asking anybody.
    #[cfg(test)]
    pub(crate) fn know(&self, name: &str, addresses: &[IpAddr]) {
        let answer = Arc::new(OnceCell::new_with(Some(Ok(addresses.into()))));
        self.names().insert(name.to_owned(), Slot { asked: Instant::now(), answer, rank: Rank::New });
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
        let waited =
            tokio::time::timeout(Duration::from_millis(50), lookups.addresses("slow.test", Listing::Among))
                .await;
        assert!(waited.is_err());
        let turns = || lookups.turns[Rank::New as usize].available_permits();
        assert_eq!(turns(), MOST_LOOKUPS - 1);
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert_eq!(turns(), MOST_LOOKUPS);
    }

    #[tokio::test]
    async fn names_that_nobody_answers_for_keep_nobody_else() {
        let silent = |name: &str| {
            if name.starts_with("silent") {
                std::thread::sleep(Duration::from_secs(4));
            }
            Ok(vec![IpAddr::from([192, 0, 2, 1])])
        };
        let lookups = Arc::new(Lookups { resolve: silent, ..Lookups::default() });
        let stale = Instant::now().checked_sub(FRESH).unwrap();
        lookups.know("known.test", &[IpAddr::from([192, 0, 2, 1])]);
        lookups.names().get_mut("known.test").unwrap().asked = stale;
        for number in 0..300 {
            let lookups = Arc::clone(&lookups);
            let name = format!("silent{number}.wild.test");
            tokio::spawn(async move { lookups.addresses(&name, Listing::Among).await });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        lookups.addresses("named.test", Listing::Named).await.unwrap();
        lookups.addresses("known.test", Listing::Among).await.unwrap();
        assert!(begun.elapsed() < Duration::from_secs(1));
        // Another one is told soon that there is no room.
        let error = lookups.addresses("new.wild.test", Listing::Among).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(3));
    }

    #[tokio::test]
    async fn names_of_this_machine() {
        let lookups = Lookups::default();
        let addresses = lookups.addresses("localhost", Listing::Named).await.unwrap();
        assert!(addresses.iter().all(IpAddr::is_loopback) && !addresses.is_empty());
        let again = lookups.addresses("localhost", Listing::Named).await.unwrap();
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
