//! What one rule, or the whole sandbox, may still use.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use stockade_policy::NetLimits;

/// What one rule, or the whole sandbox, may still use. Shared by all its connections.
#[derive(Debug)]
pub(super) struct Allotment {
    /// Whether bytes have to be looked at one reading at a time.
    metered: AtomicBool,
    used: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limits: NetLimits,
    connections: Bucket,
    requests: Bucket,
    bytes: Bucket,
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Connections(u32),
    Requests(u32),
    TotalBytes(u64),
}

impl Allotment {
    pub(super) fn new(limits: NetLimits) -> Self {
        let now = Instant::now();
        let state = State {
            limits,
            connections: Bucket::full(limits.connections_per_second.unwrap_or(0).into(), now),
            requests: Bucket::full(limits.requests_per_minute.unwrap_or(0).into(), now),
            bytes: Bucket::full(amount(limits.bytes_per_second.unwrap_or(0)), now),
        };
        Self {
            metered: AtomicBool::new(is_metered(limits)),
            used: AtomicU64::new(0),
            state: Mutex::new(state),
        }
    }

    /// Sets other limits; what was used stays used.
    pub(super) fn set_limits(&self, limits: NetLimits) {
        let mut state = self.state();
        state.limits = limits;
        self.metered.store(is_metered(limits), Ordering::Release);
    }

    /// Bytes used so far.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn limits(&self) -> NetLimits {
        self.state().limits
    }

    /// One more connection.
    pub(super) fn connection(&self, now: Instant) -> Result<(), Limit> {
        let mut state = self.state();
        if let Some(most) = state.limits.connections_per_second
            && !state.connections.take_one(most.into(), most.into(), now)
        {
            return Err(Limit::Connections(most));
        }
        self.within_total(&state)
    }

    /// One more request.
    pub(super) fn request(&self, now: Instant) -> Result<(), Limit> {
        let mut state = self.state();
        if let Some(most) = state.limits.requests_per_minute
            && !state.requests.take_one(f64::from(most) / 60.0, most.into(), now)
        {
            return Err(Limit::Requests(most));
        }
        self.within_total(&state)
    }

    /// Counts bytes. Says how long to wait so that the rate is kept.
    pub(super) fn bytes(&self, bytes: u64) -> Result<Option<Duration>, Limit> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        if !self.metered.load(Ordering::Acquire) {
            return Ok(None);
        }
        let mut state = self.state();
        if let Some(total) = state.limits.total_bytes
            && before.saturating_add(bytes) > total
        {
            return Err(Limit::TotalBytes(total));
        }
        let rate = state.limits.bytes_per_second;
        Ok(rate.and_then(|rate| state.bytes.borrow(amount(bytes), amount(rate), Instant::now())))
    }

    fn within_total(&self, state: &State) -> Result<(), Limit> {
        match state.limits.total_bytes {
            Some(total) if self.used.load(Ordering::Relaxed) >= total => Err(Limit::TotalBytes(total)),
            _ => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_metered(limits: NetLimits) -> bool {
    limits.bytes_per_second.is_some() || limits.total_bytes.is_some()
}

fn amount(number: u64) -> f64 {
    number as f64
}

/// Tokens that come back with time.
#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    fn full(tokens: f64, now: Instant) -> Self {
        Self { tokens, filled: now }
    }

    fn fill(&mut self, rate: f64, most: f64, now: Instant) {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + passed * rate).min(most);
        self.filled = now;
    }

    fn take_one(&mut self, rate: f64, most: f64, now: Instant) -> bool {
        self.fill(rate, most, now);
        let enough = self.tokens >= 1.0;
        if enough {
            self.tokens -= 1.0;
        }
        enough
    }

    /// Takes what is not there yet, too: whoever does so waits until it would be.
    fn borrow(&mut self, tokens: f64, rate: f64, now: Instant) -> Option<Duration> {
        self.fill(rate, rate, now);
        self.tokens -= tokens;
        let wait = (self.tokens < 0.0).then(|| -self.tokens / rate.max(1.0));
        wait.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_come_back_with_time() {
        let allotment = Allotment::new(NetLimits { connections_per_second: Some(2), ..NetLimits::default() });
        let start = Instant::now();
        assert_eq!(allotment.connection(start), Ok(()));
        assert_eq!(allotment.connection(start), Ok(()));
        assert_eq!(allotment.connection(start), Err(Limit::Connections(2)));
        assert_eq!(allotment.connection(start + Duration::from_millis(600)), Ok(()));
        assert_eq!(allotment.connection(start + Duration::from_millis(601)), Err(Limit::Connections(2)));
    }

    #[test]
    fn requests_are_spread_over_a_minute() {
        let allotment = Allotment::new(NetLimits { requests_per_minute: Some(60), ..NetLimits::default() });
        let start = Instant::now();
        let at_once = (0..100).filter(|_| allotment.request(start).is_ok()).count();
        assert_eq!(at_once, 60);
        let later = (0..100).filter(|_| allotment.request(start + Duration::from_secs(10)).is_ok()).count();
        assert_eq!(later, 10);
    }

    #[test]
    fn bytes_beyond_the_rate_wait_and_beyond_the_total_end() {
        let limits =
            NetLimits { bytes_per_second: Some(1000), total_bytes: Some(5000), ..NetLimits::default() };
        let allotment = Allotment::new(limits);
        assert_eq!(allotment.bytes(1000), Ok(None));
        let wait = allotment.bytes(2000).unwrap().unwrap();
        assert!(wait > Duration::from_millis(1900) && wait <= Duration::from_secs(2), "{wait:?}");
        assert_eq!(allotment.bytes(2001), Err(Limit::TotalBytes(5000)));
        assert_eq!(allotment.connection(Instant::now()), Err(Limit::TotalBytes(5000)));
    }

    #[test]
    fn what_was_used_counts_when_limits_come_later() {
        let allotment = Allotment::new(NetLimits::default());
        assert_eq!(allotment.bytes(4000), Ok(None));
        allotment.set_limits(NetLimits { total_bytes: Some(4100), ..NetLimits::default() });
        assert_eq!(allotment.bytes(100), Ok(None));
        assert_eq!(allotment.bytes(1), Err(Limit::TotalBytes(4100)));
    }
}
