//! Files that the caller writes while the command runs: events, a report. A command that could change them would write
//! its own record.

use crate::Layer;
use crate::policy::Policy;
use crate::rules::{List, Place, Rule};
use std::path::PathBuf;

/// The policy that protects them as it does its own settings, where there are any.
pub(super) fn keeping(policy: &Policy, kept: &[PathBuf]) -> Option<Policy> {
    if kept.is_empty() {
        return None;
    }
    let mut policy = policy.clone();
    let source = policy.book.source(Layer::BuiltIn, "files that the caller writes");
    for path in kept {
        let place = Place::Literal(path.clone());
        let text = path.to_string_lossy().into();
        policy.book.add(Rule { list: List::Protected, place, text, source, key: None });
    }
    Some(policy)
}
