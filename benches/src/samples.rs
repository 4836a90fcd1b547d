//! A handful of measured times.

use std::time::Duration;

/// Times of one contender, sorted; never empty.
#[derive(Clone, Debug)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// `None` if there is nothing to tell.
    pub fn new(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        (!times.is_empty()).then_some(Self(times))
    }

    /// Half of the times are below.
    pub fn median(&self) -> Duration {
        let middle = self.0.len() / 2;
        if self.0.len() % 2 == 1 { self.0[middle] } else { (self.0[middle - 1] + self.0[middle]) / 2 }
    }

    /// Nine of ten times are at or below.
    pub fn p90(&self) -> Duration {
        self.0[(self.0.len() * 9).div_ceil(10) - 1]
    }

    /// All but one of a hundred times are at or below.
    pub fn p99(&self) -> Duration {
        self.0[(self.0.len() * 99).div_ceil(100) - 1]
    }

    /// The slowest in units of the fastest: on a machine that does nothing else it is near one.
    pub fn spread(&self) -> f64 {
        self.0[self.0.len() - 1].as_secs_f64() / self.0[0].as_secs_f64()
    }

    /// How many were taken.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// This median in units of another one.
    pub fn ratio(&self, other: &Self) -> f64 {
        self.median().as_secs_f64() / other.median().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(times: impl IntoIterator<Item = u64>) -> Samples {
        Samples::new(times.into_iter().map(Duration::from_millis).collect()).unwrap()
    }

    #[test]
    fn order_does_not_matter() {
        assert_eq!(samples([9, 1, 5]).median(), Duration::from_millis(5));
        assert_eq!(samples([4, 1, 2, 9]).median(), Duration::from_millis(3));
    }

    #[test]
    fn nine_of_ten() {
        assert_eq!(samples(1..=10).p90(), Duration::from_millis(9));
        assert_eq!(samples([7]).p90(), Duration::from_millis(7));
    }

    #[test]
    fn slowest_and_fastest() {
        assert_eq!(samples([4, 1, 3]).spread(), 4.0);
        assert_eq!(samples([7]).spread(), 1.0);
    }

    #[test]
    fn nothing_is_not_zero() {
        assert!(Samples::new(Vec::new()).is_none());
    }
}
