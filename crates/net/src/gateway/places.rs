//! Places for sockets, requests and their heads: as many as a sandbox may have, and as the process has
//! descriptors and memory for.

use rustix::process::{Resource, getrlimit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// Sockets of one kind that a sandbox may have at once, where the process has descriptors for so many.
const MOST_LIVE: usize = 8192;
/// Tunnels within the connections of HTTP/2 clients that a sandbox may have at once: each has buffers of its
/// own, and a client can have a hundred of them for the price of one connection.
const MOST_TUNNELS: usize = 256;
/// Clients that speak HTTP/2 here that a sandbox may have at once: each has buffers for frames and a hundred
/// streams.
const MOST_SECOND: usize = 256;
/// Requests that go through the HTTP library that a sandbox may have under way at once.
const MOST_REQUESTS: usize = 2048;
/// Kilobytes of their heads: each is held until its answer begins, and again on its way out.
const MOST_HEADS: usize = 16 * 1024;
/// As many times as much for all sandboxes of the process together.
const OF_ALL: usize = 16;
/// One part for clients, one for servers, one for everything else in the process.
const PARTS: usize = 3;
/// Descriptors that are no sandbox's to use up: for lookups, records, other programs' ends.
const RESERVE: usize = 256;
/// How long a crowd has to thin out before somebody is refused.
const PATIENCE: Duration = Duration::from_secs(1);

/// What all sandboxes of the process may have together.
static CLIENTS: Process = Process::new(half_of_process);
static SERVERS: Process = Process::new(half_of_process);
static TUNNELS: Process = Process::new(|| OF_ALL * MOST_TUNNELS);
static SECOND: Process = Process::new(|| OF_ALL * MOST_SECOND);
static REQUESTS: Process = Process::new(|| OF_ALL * MOST_REQUESTS);
static HEADS: Process = Process::new(|| OF_ALL * MOST_HEADS);

/// Places of one kind, of one sandbox.
#[derive(Debug)]
pub(crate) struct Places {
    /// Asked anew each time: the limit may be raised while sandboxes run.
    most: fn() -> usize,
    taken: AtomicUsize,
    told: AtomicBool,
    process: &'static Process,
}

#[derive(Debug)]
struct Process {
    most: fn() -> usize,
    taken: AtomicUsize,
    /// Somebody gave a place back, in whichever sandbox.
    freed: Notify,
}

/// One taken place, or several together, given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    count: usize,
}

impl Process {
    const fn new(most: fn() -> usize) -> Self {
        Self { most, taken: AtomicUsize::new(0), freed: Notify::const_new() }
    }
}

impl Places {
    /// For what comes in at the doors.
    pub(super) fn for_clients() -> Arc<Self> {
        Self::of(of_sandbox, &CLIENTS)
    }

    /// For what goes out.
    pub(super) fn for_servers() -> Arc<Self> {
        Self::of(of_sandbox, &SERVERS)
    }

    /// For tunnels within connections.
    pub(super) fn for_tunnels() -> Arc<Self> {
        Self::of(|| MOST_TUNNELS, &TUNNELS)
    }

    /// For clients that speak HTTP/2.
    pub(super) fn for_second() -> Arc<Self> {
        Self::of(|| MOST_SECOND, &SECOND)
    }

    /// For requests.
    pub(super) fn for_requests() -> Arc<Self> {
        Self::of(|| MOST_REQUESTS, &REQUESTS)
    }

    /// For kilobytes of heads.
    pub(super) fn for_heads() -> Arc<Self> {
        Self::of(|| MOST_HEADS, &HEADS)
    }

    fn of(most: fn() -> usize, process: &'static Process) -> Arc<Self> {
        Arc::new(Self { most, taken: AtomicUsize::new(0), told: AtomicBool::new(false), process })
    }

    /// Places that nobody else has a part in.
    #[cfg(test)]
    pub(crate) fn alone(most: fn() -> usize) -> Arc<Self> {
        Self::of(most, Box::leak(Box::new(Process::new(most))))
    }

    /// A place, where there is one now.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Place> {
        self.take_many(1)
    }

    /// So many places, where there are so many now.
    pub(crate) fn take_many(self: &Arc<Self>, count: usize) -> Option<Place> {
        add(&self.taken, count, (self.most)())?;
        if add(&self.process.taken, count, (self.process.most)()).is_none() {
            self.taken.fetch_sub(count, Ordering::Relaxed);
            return None;
        }
        Some(Place { places: Arc::clone(self), count })
    }

    /// A place, where there is one before long.
    pub(super) async fn wait(self: &Arc<Self>) -> Option<Place> {
        if let Some(place) = self.take() {
            return Some(place);
        }
        let waiting = async {
            loop {
                let mut freed = std::pin::pin!(self.process.freed.notified());
                // From here on no place is missed that is given back while this looks for one.
                freed.as_mut().enable();
                match self.take() {
                    Some(place) => return place,
                    None => freed.await,
                }
            }
        };
        timeout(PATIENCE, waiting).await.ok()
    }

    /// How many there are, as of now.
    pub(super) fn most(&self) -> usize {
        (self.most)().min((self.process.most)())
    }

    /// Whether this crowd was not told of yet. It is from now on.
    pub(super) fn is_news(&self) -> bool {
        !self.told.swap(true, Ordering::Relaxed)
    }
}

impl Place {
    /// Where it comes from, and more like it.
    pub(crate) fn places(&self) -> Arc<Places> {
        Arc::clone(&self.places)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Self { places, count } = self;
        places.process.taken.fetch_sub(*count, Ordering::Relaxed);
        // The next crowd is a new violation only after this one has halved.
        if places.taken.fetch_sub(*count, Ordering::Relaxed) <= (places.most)() / 2 {
            places.told.store(false, Ordering::Relaxed);
        }
        places.process.freed.notify_waiters();
    }
}

/// Counts so many more, where there is room for them.
fn add(taken: &AtomicUsize, count: usize, most: usize) -> Option<()> {
    let more = |taken: usize| taken.checked_add(count).filter(|sum| *sum <= most);
    taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| ())
}

fn of_sandbox() -> usize {
    (descriptors() / PARTS).min(MOST_LIVE)
}

fn half_of_process() -> usize {
    let all = descriptors();
    // Where there are few, the reserve is smaller, too.
    (all - RESERVE.min(all / PARTS)) / 2
}

fn descriptors() -> usize {
    let soft = getrlimit(Resource::Nofile).current;
    soft.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sandboxes_share_what_the_process_has() {
        let process: &'static Process = Box::leak(Box::new(Process::new(|| 3)));
        let (one, other) = (Places::of(|| 2, process), Places::of(|| 2, process));
        let taken = [one.take().unwrap(), one.take().unwrap()];
        assert!(one.take().is_none(), "the sandbox has its two");
        let _third = other.take().unwrap();
        assert!(other.take().is_none(), "the process has its three");
        drop(taken);
        assert!(other.take().is_some());
        assert_eq!((process.taken.load(Ordering::Relaxed), other.taken.load(Ordering::Relaxed)), (1, 1));
    }

    #[test]
    fn both_kinds_leave_a_reserve() {
        let all = descriptors();
        assert!(2 * half_of_process() + RESERVE.min(all / PARTS) <= all);
        assert!(of_sandbox() <= MOST_LIVE && of_sandbox() <= half_of_process());
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_is_waited_for_but_not_for_long() {
        let places = Places::alone(|| 1);
        let first = places.take().unwrap();
        assert!(places.wait().await.is_none());
        let soon = async {
            tokio::time::sleep(PATIENCE / 2).await;
            drop(first);
        };
        let (place, ()) = tokio::join!(places.wait(), soon);
        assert!(place.is_some());
    }
}
