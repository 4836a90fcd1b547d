//! What mounts cannot judge: names that do not exist yet, and what refusals mean.
//!
//! The broker of an engine holds a system call, finds out which path it is about, and asks a [`Judge`].
//! A judge is made from the plan alone and touches no file: what it cannot know without looking it hands
//! back as a [`Check`].

mod caches;
mod descent;
mod git;
mod judge;
mod judgement;
mod plan;
pub(crate) mod powers;
mod refusal;
mod stand_ins;
mod table;
#[cfg(test)]
mod tests;
mod unix;
mod walls;

pub use judge::Judge;
pub use judgement::{Check, Judgement, Naming, Refusal};
pub use plan::{BrokerPlan, GuardPlace, GuardRule, HeldReads, StandInRule, UnixRule};
