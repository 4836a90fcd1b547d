//! One act done in several ways, side by side: the first way is what the others are measured against.

use crate::{Lap, Promise, Samples, Table};
use std::time::Duration;

/// The most a way may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// So many times as long as the first way.
    Times(f64),
    /// So long.
    Within(Duration),
}

/// Who reads the ratios has to know how much the machine was disturbed.
const SPREAD: &str = "bare: slowest / fastest";

/// Rows of a table with one column for each way.
#[derive(Clone, Debug)]
pub struct Comparison {
    table: Table,
    ways: Vec<&'static str>,
    /// Whose, and what.
    promises: Vec<(&'static str, Promise)>,
}

impl Comparison {
    /// A table without rows.
    pub fn new(title: impl Into<String>, ways: &[&'static str]) -> Self {
        let head: Vec<&str> =
            std::iter::once("what").chain(ways.iter().copied()).chain([SPREAD, "runs"]).collect();
        Self { table: Table::new(title, &head), ways: ways.to_vec(), promises: Vec::new() }
    }

    /// Adds an act: what each way took, in the order of the columns, and what it may take at most.
    pub fn row(&mut self, what: &str, laps: &[Option<&Lap>], limits: &[Option<Limit>]) {
        let taken: Vec<Option<&Samples>> =
            laps.iter().map(|lap| lap.and_then(|lap| lap.result.as_ref().ok())).collect();
        let first = taken.first().copied().flatten();
        let mut cells = vec![what.to_owned()];
        for (column, samples) in taken.iter().enumerate() {
            let limit = limits.get(column).copied().flatten();
            cells.push(samples.map_or_else(|| "-".to_owned(), |samples| cell(samples, first, column, limit)));
            if let (Some(limit), Some(way)) = (limit, self.ways.get(column)) {
                self.promises.push((way, limit.promise(what, way, *samples, first)));
            }
        }
        cells.resize(self.ways.len() + 1, "-".to_owned());
        cells.push(first.map_or_else(|| "-".to_owned(), |first| format!("{:.2}", first.spread())));
        cells.push(taken.iter().flatten().map(|samples| samples.count()).min().unwrap_or(0).to_string());
        self.table.row(cells);
    }

    /// Shows the limits of a way without promising them: for limits of which one of several has to be kept.
    pub fn unpromised(mut self, way: &str) -> Self {
        self.promises.retain(|(whose, _)| *whose != way);
        self
    }

    /// The table, and a promise for each limit.
    pub fn finish(self) -> (Table, Vec<Promise>) {
        (self.table, self.promises.into_iter().map(|(_, promise)| promise).collect())
    }
}

/// `1.31 s, 1.02 × ≤ 1.05`: the sign says whether the limit was kept.
fn cell(samples: &Samples, first: Option<&Samples>, column: usize, limit: Option<Limit>) -> String {
    let mut text = readable(samples.median());
    if let Some(first) = first.filter(|_| column > 0) {
        text.push_str(&format!(", {:.2} ×", samples.ratio(first)));
    }
    match limit.map(|limit| (limit, limit.measure(samples, first))) {
        Some((limit, Some(measured))) => {
            let sign = if measured <= limit.number() { "≤" } else { ">" };
            format!("{text} {sign} {}", limit.text())
        }
        _ => text,
    }
}

impl Limit {
    fn number(self) -> f64 {
        match self {
            Self::Times(times) => times,
            Self::Within(time) => milliseconds(time),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Times(times) => format!("{times:.2}"),
            Self::Within(time) => readable(time),
        }
    }

    fn measure(self, samples: &Samples, first: Option<&Samples>) -> Option<f64> {
        match self {
            Self::Times(_) => first.map(|first| samples.ratio(first)),
            Self::Within(_) => Some(milliseconds(samples.median())),
        }
    }

    fn promise(self, what: &str, way: &str, samples: Option<&Samples>, first: Option<&Samples>) -> Promise {
        let unit = match self {
            Self::Times(_) => "× bare",
            Self::Within(_) => "ms",
        };
        Promise {
            text: format!("{what}: {way}, {unit}"),
            limit: self.number(),
            measured: samples.and_then(|samples| self.measure(samples, first)),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// A time in the unit that people would choose.
pub fn readable(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 0.001 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{:.1} µs", seconds * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    fn lap(milliseconds: u64) -> Lap {
        let samples = Samples::new(vec![Duration::from_millis(milliseconds)]).unwrap();
        Lap { name: String::new(), result: Ok(samples) }
    }

    fn rendered(comparison: Comparison) -> (String, Vec<Promise>) {
        let (table, promises) = comparison.finish();
        (table.render(Format::Text), promises)
    }

    #[test]
    fn ratios_and_limits() {
        let mut comparison = Comparison::new("Work", &["bare", "walls", "broker"]);
        let (bare, walls, broker) = (lap(100), lap(104), lap(160));
        let limits = [None, Some(Limit::Times(1.05)), Some(Limit::Times(1.5))];
        comparison.row("tar", &[Some(&bare), Some(&walls), Some(&broker)], &limits);
        let (text, promises) = rendered(comparison);
        assert!(
            text.contains(
                "tar   100.0 ms  104.0 ms, 1.04 × ≤ 1.05  160.0 ms, 1.60 × > 1.50                     1.00     1"
            ),
            "{text}"
        );
        let verdicts: Vec<_> =
            promises.iter().map(|promise| (promise.text.as_str(), promise.verdict())).collect();
        assert_eq!(verdicts, [("tar: walls, × bare", "held"), ("tar: broker, × bare", "NOT HELD")]);
    }

    #[test]
    fn limits_that_are_only_shown() {
        let mut comparison = Comparison::new("Tree", &["bare", "walls", "broker"]);
        let limits = [None, Some(Limit::Times(1.05)), Some(Limit::Times(2.5))];
        comparison.row("rg", &[Some(&lap(1)), Some(&lap(1)), Some(&lap(2))], &limits);
        let (text, promises) = rendered(comparison.unpromised("broker"));
        assert!(text.contains("≤ 2.50"), "{text}");
        assert_eq!(
            promises.iter().map(|promise| promise.text.as_str()).collect::<Vec<_>>(),
            ["rg: walls, × bare"]
        );
    }

    #[test]
    fn a_limit_in_time() {
        let mut comparison = Comparison::new("Tree", &["bare", "walls"]);
        comparison.row(
            "start",
            &[None, Some(&lap(30))],
            &[None, Some(Limit::Within(Duration::from_millis(25)))],
        );
        let (text, promises) = rendered(comparison);
        assert!(text.contains("30.0 ms > 25.0 ms"), "{text}");
        assert_eq!((promises[0].text.as_str(), promises[0].verdict()), ("start: walls, ms", "NOT HELD"));
    }

    #[test]
    fn what_failed_is_not_held() {
        let mut comparison = Comparison::new("Work", &["bare", "walls"]);
        let failed = Lap { name: String::new(), result: Err("refused".to_owned()) };
        comparison.row("tar", &[Some(&lap(1)), Some(&failed)], &[None, Some(Limit::Times(1.05))]);
        let (text, promises) = rendered(comparison);
        assert!(text.lines().last().unwrap().contains(" -  "), "{text}");
        assert_eq!(promises[0].verdict(), "not measured");
    }

    #[test]
    fn units() {
        let said: Vec<String> =
            [1_234, 1_234_000, 1_234_000_000].map(Duration::from_nanos).map(readable).into();
        assert_eq!(said, ["1.2 µs", "1.2 ms", "1.23 s"]);
    }
}
