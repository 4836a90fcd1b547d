//! `--review`: what a run left that this machine may execute later, and that nothing of ours is left.

mod clean;
mod hostile;
mod told;

use crate::support::{Ran, World};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Everything may be written, so that there is something to review.
const UNPROTECTED: &str =
    r#"{"filesystem": {"protection": {"git": "off", "shell": "off", "ide": "off", "agent": "off"}}}"#;

/// Runs shell text with a review and gives what the report says about it.
#[track_caller]
fn reviewed(world: &World, settings: &Path, text: &str) -> (Ran, Vec<Value>) {
    let report = world.base.join("report.json");
    let ran = world.run().opt("--review").with("--settings", settings).with("--report", &report).shell(text);
    let value: Value = serde_json::from_slice(&fs::read(&report).expect("a report")).expect("JSON");
    let items = value["review"].as_array().unwrap_or_else(|| panic!("no review: {value}{ran}")).clone();
    (ran, items)
}

/// Kind, change and path of each.
fn brief(items: &[Value]) -> Vec<String> {
    let word = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
    items
        .iter()
        .map(|item| format!("{} {} {}", word(item, "kind"), word(item, "change"), word(item, "path")))
        .collect()
}
