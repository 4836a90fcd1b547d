//! Measuring: contenders take turns, so that a machine that slows down slows all of them; medians and
//! ratios are reported, never a bare number from one run.
#![forbid(unsafe_code)]

mod comparison;
mod options;
mod processes;
mod promise;
mod race;
mod samples;
mod table;

pub use comparison::{Comparison, Limit, readable};
pub use options::{Pace, read_options};
pub use processes::{Family, family};
pub use promise::Promise;
pub use race::{Contender, Lap, race};
pub use samples::Samples;
pub use table::{Format, Table};
