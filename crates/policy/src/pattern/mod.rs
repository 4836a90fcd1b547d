//! Path patterns: how they are written and what they match.

mod atoms;
mod error;
mod glob;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use error::PatternError;
pub use glob::Glob;
pub(crate) use glob::{Segment, Step};
pub(crate) use parse::{Pattern, Reading, Surroundings, parse};
