//! Taking turns: A B C A B C, never A A A B B B.

use crate::Samples;
use std::time::{Duration, Instant};

/// Unmeasured turns before the first measured one: page cache, first settings, first fork.
const WARM_UP: usize = 2;

/// Something to be timed.
pub struct Contender<'a> {
    name: String,
    every: usize,
    warm_up: usize,
    act: Box<dyn FnMut() -> anyhow::Result<Duration> + 'a>,
}

impl<'a> Contender<'a> {
    /// Runs in every round.
    pub fn new(name: impl Into<String>, mut act: impl FnMut() -> anyhow::Result<()> + 'a) -> Self {
        Self::with_own_clock(name, move || {
            let start = Instant::now();
            act()?;
            Ok(start.elapsed())
        })
    }

    /// Runs in every round and says itself how long it took: what it does to get ready is not part of it.
    pub fn with_own_clock(
        name: impl Into<String>,
        act: impl FnMut() -> anyhow::Result<Duration> + 'a,
    ) -> Self {
        Self { name: name.into(), every: 1, warm_up: WARM_UP, act: Box::new(act) }
    }

    /// Runs only in each `every`th round: for contenders that would otherwise take up the whole time.
    pub fn seldom(mut self, every: usize) -> Self {
        self.every = every.max(1);
        self.long()
    }

    /// Warms up with one turn only: for what takes seconds.
    pub fn long(mut self) -> Self {
        self.warm_up = 1;
        self
    }
}

/// What one contender did.
#[derive(Debug)]
pub struct Lap {
    /// Whose.
    pub name: String,
    /// Its times, or why there are none: a failing act is never timed.
    pub result: Result<Samples, String>,
}

/// Lets all contenders take turns for so many rounds, with a pause before each turn: the kernel takes large
/// things down after their owner has ended, and the next in line must not pay for it.
pub fn race(rounds: usize, pause: Duration, contenders: Vec<Contender<'_>>) -> Vec<Lap> {
    let mut runners: Vec<Runner<'_>> = contenders.into_iter().map(Runner::warmed_up).collect();
    for round in 0..rounds {
        for runner in &mut runners {
            runner.turn(round, pause);
        }
    }
    runners.into_iter().map(Runner::finish).collect()
}

struct Runner<'a> {
    contender: Contender<'a>,
    times: Vec<Duration>,
    failure: Option<String>,
}

impl<'a> Runner<'a> {
    fn warmed_up(mut contender: Contender<'a>) -> Self {
        let failure = (0..contender.warm_up).find_map(|_| (contender.act)().err());
        let failure = failure.map(|error| format!("{error:#}"));
        Self { contender, times: Vec::new(), failure }
    }

    fn turn(&mut self, round: usize, pause: Duration) {
        if self.failure.is_some() || !round.is_multiple_of(self.contender.every) {
            return;
        }
        std::thread::sleep(pause);
        match (self.contender.act)() {
            Ok(time) => self.times.push(time),
            Err(error) => self.failure = Some(format!("{error:#}")),
        }
    }

    fn finish(self) -> Lap {
        let result = match self.failure {
            Some(failure) => Err(failure),
            None => Samples::new(self.times).ok_or_else(|| "no rounds".to_owned()),
        };
        Lap { name: self.contender.name, result }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn contenders_take_turns() {
        let order = RefCell::new(String::new());
        let step = |letter: char| {
            order.borrow_mut().push(letter);
            Ok(())
        };
        let contenders = vec![
            Contender::new("a", || step('a')),
            Contender::new("b", || step('b')),
            Contender::new("c", || step('c')).seldom(2),
        ];
        let laps = race(3, Duration::ZERO, contenders);
        assert_eq!(*order.borrow(), "aabbcabcababc");
        let counts: Vec<usize> = laps.iter().map(|lap| lap.result.as_ref().unwrap().count()).collect();
        assert_eq!(counts, [3, 3, 2]);
    }

    #[test]
    fn an_own_clock_is_believed() {
        let turns = RefCell::new(0);
        let contender = Contender::with_own_clock("x", || {
            *turns.borrow_mut() += 1;
            Ok(Duration::from_secs(7))
        });
        let laps = race(2, Duration::ZERO, vec![contender.long()]);
        assert_eq!(laps[0].result.as_ref().unwrap().median(), Duration::from_secs(7));
        assert_eq!(*turns.borrow(), 3);
    }

    #[test]
    fn a_failure_is_not_a_time() {
        let laps = race(2, Duration::ZERO, vec![Contender::new("x", || anyhow::bail!("refused"))]);
        assert_eq!(laps[0].result.as_ref().err().map(String::as_str), Some("refused"));
    }
}
