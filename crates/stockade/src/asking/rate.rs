//! How many questions a person is asked.

use std::time::{Duration, Instant};

/// Questions that may come at once after a quiet time.
const BURST: u32 = 10;
/// One more question after each of these: twenty a minute.
const PAUSE: Duration = Duration::from_secs(3);

/// Counts questions.
#[derive(Debug)]
pub(super) struct Rate {
    left: u32,
    counted: Instant,
}

impl Rate {
    pub(super) fn new(now: Instant) -> Self {
        Self { left: BURST, counted: now }
    }

    #[cfg(test)]
    pub(super) fn generous(now: Instant) -> Self {
        Self { left: 100, counted: now }
    }

    /// Whether one more may be put now; counts it if so.
    pub(super) fn admit(&mut self, now: Instant) -> bool {
        let pauses = now.saturating_duration_since(self.counted).as_millis() / PAUSE.as_millis();
        let earned = u32::try_from(pauses).unwrap_or(u32::MAX);
        if self.left.saturating_add(earned) >= BURST {
            (self.left, self.counted) = (self.left.max(BURST), now);
        } else {
            self.left += earned;
            self.counted += PAUSE * earned;
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_twenty_a_minute() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        let mut admitted = |from: u64, to: u64| {
            (from..to).filter(|tick| rate.admit(start + Duration::from_millis(tick * 100))).count()
        };
        assert_eq!(admitted(0, 10), 10);
        assert_eq!(admitted(10, 30), 0);
        assert_eq!(admitted(30, 630), 20);
        // An hour of silence is worth no more than one burst.
        assert_eq!(admitted(36_000, 36_020), 10);
    }
}
