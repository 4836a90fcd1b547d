//! Turns the tables of `profiles/seccomp/` into Rust, so that no start has to parse it and a name
//! the architecture does not know is an error of the build.

use serde::Deserialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

#[derive(Deserialize)]
struct Profile {
    highest: u32,
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    calls: Vec<String>,
    #[serde(default)]
    when: Vec<Condition>,
    errno: String,
    comment: String,
    #[serde(default)]
    record: bool,
    #[serde(default)]
    unless: Option<String>,
    #[serde(default)]
    arch: Vec<String>,
}

#[derive(Deserialize)]
struct Held {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    need: String,
    calls: Vec<String>,
    #[serde(default)]
    when: Vec<Condition>,
    comment: String,
    #[serde(default)]
    arch: Vec<String>,
}

#[derive(Deserialize)]
struct Condition {
    arg: u8,
    #[serde(default)]
    half: Option<String>,
    #[serde(default)]
    mask: Option<String>,
    #[serde(default)]
    bits: Option<String>,
    #[serde(default)]
    is: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    generate("native", |text| serde_json::from_str(text).map_err(said).and_then(|profile| table(&profile)));
    generate("broker", |text| serde_json::from_str(text).map_err(said).and_then(|held| held_table(&held)));
}

fn generate(name: &str, table: impl Fn(&str) -> Result<String, String>) {
    let profile = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default())
        .join(format!("../../profiles/seccomp/{name}.json"));
    println!("cargo::rerun-if-changed={}", profile.display());
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let out = PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join(format!("seccomp_{name}.rs"));
    let made = fs::read_to_string(&profile)
        .map_err(said)
        .and_then(|text| table(&text))
        .and_then(|text| fs::write(&out, text).map_err(said));
    if let Err(error) = made {
        println!("cargo::error={}: {error}", profile.display());
    }
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn held_table(held: &Held) -> Result<String, String> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").map_err(said)?;
    let mut out = String::from("pub(super) static ROWS: &[Row] = &[\n");
    for row in held.rows.iter().filter(|row| row.arch.is_empty() || row.arch.contains(&arch)) {
        if row.comment.is_empty() {
            return Err(format!("{:?} has no comment", row.calls));
        }
        let need = match row.need.as_str() {
            "writes" => "Need::Writes",
            "reads" => "Need::Reads",
            "metadata" => "Need::Metadata",
            "sockets" => "Need::Sockets",
            "datagrams" => "Need::Datagrams",
            other => return Err(format!("unknown need {other}")),
        };
        let when = row.when.iter().map(condition).collect::<Result<Vec<_>, _>>()?.join(", ");
        for call in &row.calls {
            let call = number(call);
            writeln!(out, "    Row {{ call: {call}, when: &[{when}], need: {need} }},").map_err(said)?;
        }
    }
    out.push_str("];\n");
    Ok(out)
}

/// A call's number: the library's, or the one written behind its name.
fn number(call: &str) -> String {
    match call.split_once('=') {
        Some((_, number)) => number.to_owned(),
        None => format!("libc::SYS_{call} as u32"),
    }
}

fn table(profile: &Profile) -> Result<String, String> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").map_err(|error| error.to_string())?;
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").map_err(|error| error.to_string());
    line(format!("pub(super) const HIGHEST: u32 = {};", profile.highest))?;
    line("pub(super) static RULES: &[Rule] = &[".into())?;
    for rule in &profile.rules {
        if rule.comment.is_empty() {
            return Err(format!("{:?} has no comment", rule.calls));
        }
        if !rule.arch.is_empty() && !rule.arch.contains(&arch) {
            continue;
        }
        let unless = match rule.unless.as_deref() {
            None => "None",
            Some("unixSockets") => "Some(Lift::UnixSockets)",
            Some("allUnixSockets") => "Some(Lift::AllUnixSockets)",
            Some("nestedUserNamespaces") => "Some(Lift::NestedUserNamespaces)",
            Some("ordinaryCaller") => "Some(Lift::OrdinaryCaller)",
            Some(other) => return Err(format!("unknown switch {other}")),
        };
        let when = rule.when.iter().map(condition).collect::<Result<Vec<_>, _>>()?.join(", ");
        for call in &rule.calls {
            let number = number(call);
            let name = call.split('=').next().unwrap_or_default();
            let record = rule.record;
            let errno = match rule.errno.as_str() {
                "0" => "0".to_owned(),
                name => format!("libc::{name} as u32"),
            };
            line(format!(
                "    Rule {{ name: {name:?}, call: {number}, when: &[{when}], errno: {errno}, record: {record}, unless: {unless} }},"
            ))?;
        }
    }
    line("];".into())?;
    Ok(out)
}

fn condition(condition: &Condition) -> Result<String, String> {
    let mask = condition.mask.as_deref().unwrap_or("0xffffffff");
    let test = match (&condition.bits, condition.is.as_slice(), condition.not.as_slice()) {
        (Some(bits), [], []) => format!("Test::AnyBit({bits})"),
        (None, is, []) if !is.is_empty() => format!("Test::Is(&[{}])", is.join(", ")),
        (None, [], not) if !not.is_empty() => format!("Test::Not(&[{}])", not.join(", ")),
        _ => return Err("a condition needs exactly one of bits, is, not".into()),
    };
    let half = match condition.half.as_deref() {
        None => "Half::Low",
        Some("high") => "Half::High",
        Some(other) => return Err(format!("unknown half {other}")),
    };
    Ok(format!("Condition {{ arg: {}, half: {half}, mask: {mask}, test: {test} }}", condition.arg))
}
