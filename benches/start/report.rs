//! Prints tables as they come and keeps the promises for the end.

use std::time::Duration;
use stockade_bench::{Comparison, Format, Lap, Promise, Samples, Table, readable};

/// More than any disk needs to note a new file in memory.
const SLOW: Duration = Duration::from_micros(150);

/// Where results go.
pub(crate) struct Report {
    format: Format,
    promises: Vec<Promise>,
}

impl Report {
    /// Nothing printed yet.
    pub(crate) fn new(format: Format) -> Self {
        Self { format, promises: Vec::new() }
    }

    /// Prints a table, and why a contender has no numbers in it.
    pub(crate) fn print(&self, table: &Table, laps: &[Lap]) {
        println!("{}", table.render(self.format));
        for lap in laps {
            if let Err(reason) = &lap.result {
                println!("{}: not measured: {reason}\n", lap.name);
            }
        }
    }

    /// Prints a comparison and remembers its promises.
    pub(crate) fn compare(&mut self, comparison: Comparison, laps: &[Lap]) {
        let (table, promises) = comparison.finish();
        self.print(&table, laps);
        self.promises.extend(promises);
    }

    /// Says in what condition the file system is: after many files were removed, some make new ones ten times
    /// as slowly for minutes, and whatever makes files then seems to cost nothing on top.
    pub(crate) fn condition(&self, per_file: Duration) {
        let verdict = if per_file > SLOW {
            ", which is slow: wait some minutes, or the ratios mean little"
        } else {
            ""
        };
        println!("Making a file takes {} here{verdict}.\n", readable(per_file));
    }

    /// Says what is not measured at all.
    pub(crate) fn skip(&self, what: &str, reason: &str) {
        println!("{what}: skipped: {reason}\n");
    }

    /// Remembers a promise.
    pub(crate) fn promise(&mut self, text: impl Into<String>, limit: f64, measured: Option<f64>) {
        self.promises.push(Promise { text: text.into(), limit, measured });
    }

    /// Prints the promises.
    pub(crate) fn finish(self) {
        if self.promises.is_empty() {
            return;
        }
        let mut table = Table::new("Promises", &["promise", "at most", "measured", "verdict"]);
        for promise in &self.promises {
            let measured = promise.measured.map_or_else(|| "-".to_owned(), |number| format!("{number:.2}"));
            let verdict = promise.verdict().to_owned();
            table.row([promise.text.clone(), format!("{:.2}", promise.limit), measured, verdict]);
        }
        println!("{}", table.render(self.format));
    }
}

/// A time as people read it.
pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// `×` another one, or a dash.
pub(crate) fn times(samples: &Samples, other: Option<&Samples>) -> String {
    other.map_or_else(|| "-".to_owned(), |other| format!("{:.2}", samples.ratio(other)))
}

/// The samples of a contender, by name.
pub(crate) fn samples_of<'a>(laps: &'a [Lap], name: &str) -> Option<&'a Samples> {
    laps.iter().find(|lap| lap.name == name).and_then(|lap| lap.result.as_ref().ok())
}
