//! What mounts cannot judge: names that do not exist yet, and what refusals mean.
//!
//! The broker of an engine holds a system call, finds out which path it is about, and asks a [`Judge`].
//! A judge is made from the plan alone and touches no file: what it cannot know without looking it hands
//! back as a [`Check`].

mod judge;
mod plan;

pub use judge::{Check, Judge, Judgement, Naming, Refusal};
pub use plan::{BrokerPlan, GuardPlace, GuardRule, HeldReads, UnixRule};
