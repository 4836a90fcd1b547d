//! The store with real files, several processes, and everything that can go wrong with a disk.

mod faults;
mod keeping;
mod together;

use super::{Filter, IgnoreList, ViolationStore};
use crate::private;
use std::path::Path;
use std::process::Command;
use stockade_policy::Violation;

pub(super) fn violation(subject: &str) -> Violation {
    serde_json::from_value(serde_json::json!({
        "seq": 1, "time": private::now(), "sandbox": "box-1", "command": "make all", "pid": 12,
        "kind": "write", "subject": subject,
    }))
    .unwrap()
}

/// Subjects in the store, oldest first.
fn subjects(store: &ViolationStore, filter: &Filter) -> Vec<String> {
    store.query(filter).unwrap().into_iter().map(|stored| stored.violation.subject).collect()
}

fn record(store: &ViolationStore, subjects: &[&str]) {
    let violations: Vec<Violation> = subjects.iter().map(|subject| violation(subject)).collect();
    store.record(&violations, &IgnoreList::default()).unwrap();
}

/// The test of this name once more, in a process of its own that finds the place in its environment.
fn again(test: &str, place: &Path) -> Command {
    // Not by its name: it may lie where only root can go, and some of these processes are not.
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", &format!("violations::tests::{test}"), "--nocapture"]).env("STORE_PLACE", place);
    command
}

/// The place, in such a process.
fn place_of_child() -> Option<ViolationStore> {
    std::env::var_os("STORE_PLACE").map(|place| ViolationStore::new(Path::new(&place)))
}
