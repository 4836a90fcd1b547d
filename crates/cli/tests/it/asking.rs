//! Somebody is asked while a command waits, and the same command goes on.

mod acts;
mod answers;
mod beyond;
mod faults;
mod limits;
mod pending;
mod person;
mod program;
mod terminal;

use crate::support::{Answer, Ran, Run, World, escape};
pub(crate) use person::Person;
use program::Program;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What came of acts that somebody was asked about.
struct Tried {
    answers: Vec<Answer>,
    questions: Vec<Value>,
}

/// Tries acts of the probe one after the other in one run, with `reply` to every question.
#[track_caller]
fn tried(run: Run<'_>, acts: &[Vec<OsString>], mut reply: impl FnMut(&Value) -> &'static str) -> Tried {
    let (lines, asked) = batch(acts);
    let program = Program::begin(run, |run| run.input(lines).start(["batch"]));
    let (heard, ran) = program.attend(&mut reply);
    let questions = heard.into_iter().filter(|line| line["type"] == "ask").collect();
    Tried { answers: Answer::all(ran, &asked), questions }
}

/// The probe's input for these acts, and their names.
fn batch(acts: &[Vec<OsString>]) -> (String, Vec<String>) {
    let line = |words: &Vec<OsString>| words.iter().map(|word| escape(word)).collect::<Vec<_>>().join(" ");
    let asked: Vec<String> = acts.iter().map(line).collect();
    let mut lines = asked.join("\n");
    lines.push('\n');
    (lines, asked)
}

/// Kind and path of a question or of a violation.
fn about(record: &Value) -> (String, PathBuf) {
    let text = |key: &str| record[key].as_str().unwrap_or_else(|| panic!("no {key}: {record}"));
    (text("kind").to_string(), text("subject").into())
}

/// What a run wrote down about its refusals.
#[track_caller]
fn violations(report: &Path) -> Vec<(String, PathBuf)> {
    let text = fs::read(report).expect("a report");
    let outcome: Value = serde_json::from_slice(&text).expect("JSON");
    outcome["violations"].as_array().expect("violations").iter().map(about).collect()
}

/// Where the caller's own settings are.
fn user_settings(world: &World) -> PathBuf {
    world.home.join(".config/stockade/settings.json")
}

/// The list of `stockade grants`, as JSON.
#[track_caller]
fn grants(world: &World) -> Vec<Value> {
    let ran: Ran = world.stockade().opts(["grants", "--json"]).go();
    ran.exits(0);
    serde_json::from_slice::<Value>(&ran.stdout).expect("JSON").as_array().expect("a list").clone()
}

/// A path as text.
fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}
