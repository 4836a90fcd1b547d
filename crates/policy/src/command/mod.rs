//! Whole commands: taking their text apart, and the rules that depend on it.
//!
//! A text is read twice, by a strict reader of our own and by the grammar editors use. Only where both see the
//! same commands, and nothing but simple commands, is anything taken for certain; everything else runs behind
//! walls.

mod assignment;
mod chosen;
mod company;
mod deny;
mod excluded;
mod globals;
mod ground;
mod heredoc;
mod inner;
mod inspect;
mod interpreter;
mod lookup;
mod part;
mod pattern;
mod reading;
mod repository;
mod rules;
mod strict;
mod strip;
mod surroundings;
#[cfg(test)]
mod tests;
mod tree;
mod word;
mod wrappers;

pub(crate) use deny::{Denied, DenyRule};
pub(crate) use excluded::Bench;
pub(crate) use ground::Ground;
pub(crate) use inspect::{Inspector, Seen};
pub(crate) use part::Reading;
pub(crate) use pattern::CommandPattern;
pub(crate) use reading::{Opinions, read};
pub(crate) use rules::{CommandRules, Excluded, HooksByTree, Obeyed, RunByGit};
