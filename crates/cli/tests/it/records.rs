//! What is left of a run: violations in the report, the events and the store; decisions in the audit log.

mod audit;
mod exact;
mod faults;
mod kept;
mod shown;

use crate::support::{Ran, Run, World};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A finished run and every record of it.
struct Kept {
    ran: Ran,
    /// The run's name.
    sandbox: String,
    report: Value,
    events: Vec<Value>,
    /// Its rows in the store, those that the settings ignore included.
    stored: Vec<Value>,
}

impl Kept {
    /// The one violation of the run, wherever it is looked for.
    #[track_caller]
    fn only(&self) -> &Value {
        let found = self.everywhere();
        assert_eq!(found.len(), 1, "expected one violation: {found:#?}{}", self.ran);
        &found[0]
    }

    /// The violations of the run: the same ones in the report, in the events and in the store.
    #[track_caller]
    fn everywhere(&self) -> &[Value] {
        let reported = list(&self.report["violations"]);
        let streamed: Vec<&Value> = self.events.iter().filter(|event| event["type"] == "violation").collect();
        assert_eq!(reported.len(), streamed.len(), "report and events differ{}", self.ran);
        assert_eq!(reported.len(), self.stored.len(), "report and store differ{}", self.ran);
        for ((reported, streamed), stored) in reported.iter().zip(streamed).zip(&self.stored) {
            assert_eq!(reported["sandbox"], self.sandbox.as_str(), "{reported:#}");
            for (key, value) in reported.as_object().expect("an object") {
                assert_eq!(value, &streamed[key], "{key} of the event {streamed:#}");
                assert_eq!(value, &stored[key], "{key} of the row {stored:#}");
            }
        }
        reported
    }
}

/// Runs, and gathers what was recorded.
#[track_caller]
fn kept(world: &World, run: Run<'_>, finish: impl FnOnce(Run<'_>) -> Ran) -> Kept {
    let (report, events) = (world.base.join("report.json"), world.base.join("events.jsonl"));
    for path in [&report, &events] {
        let _ = fs::remove_file(path);
    }
    let ran = finish(run.with("--report", &report).with("--events", &events));
    let events = lines(&events);
    let sandbox = text(&events[0]["sandbox"]).to_owned();
    let stored = stored(world, &["--all", "--limit", "100000", "--sandbox", &sandbox]);
    Kept { ran, sandbox, report: json(&report), events, stored }
}

/// What `stockade violations --json` says.
#[track_caller]
fn stored(world: &World, options: &[&str]) -> Vec<Value> {
    let ran = world.stockade().opts(["violations", "--json"]).opts(options).go();
    ran.exits(0);
    list(&serde_json::from_slice(&ran.stdout).expect("JSON")).to_vec()
}

/// The lines of the audit log.
#[track_caller]
fn logged(world: &World) -> Vec<Value> {
    lines(&state(world).join("audit.jsonl"))
}

/// The kinds of the audit log's lines.
#[track_caller]
fn kinds(world: &World) -> Vec<String> {
    logged(world).iter().map(|line| text(&line["kind"]).to_owned()).collect()
}

/// Where the caller's records are.
fn state(world: &World) -> PathBuf {
    world.home.join(".local/state/stockade")
}

#[track_caller]
fn json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).expect("JSON")
}

#[track_caller]
fn lines(path: &Path) -> Vec<Value> {
    let all = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    all.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_else(|| panic!("not a list: {value}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not text: {value}"))
}
