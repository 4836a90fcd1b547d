//! Which stored refusals are wanted.

use super::SubjectPattern;
use super::store::StoredViolation;
use rusqlite::types::Value;
use stockade_policy::ViolationKind;

/// Refusals that fit every field that says something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// From this moment on, in milliseconds since 1970.
    pub since: Option<u64>,
    /// Before this moment.
    pub until: Option<u64>,
    /// One of these kinds; any when empty.
    pub kinds: Vec<ViolationKind>,
    /// The path, glob or host.
    pub subject: Option<SubjectPattern>,
    /// The sandbox's id, or how it begins.
    pub sandbox: Option<String>,
    /// The program: a path, a name or a glob.
    pub program: Option<SubjectPattern>,
    /// Part of the subject, the command or the rule, in small or capital letters.
    pub text: Option<String>,
    /// At most this many, the newest.
    pub limit: Option<usize>,
    /// Whether those of the ignore list are wanted.
    pub hidden: Hidden,
}

/// Whether refusals of the ignore list are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hidden {
    /// They are left out.
    #[default]
    Leave,
    /// They are shown with the others.
    Include,
}

impl Filter {
    /// What the database can judge: a condition and its values.
    pub(super) fn condition(&self) -> (String, Vec<Value>) {
        let mut parts: Vec<String> = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        let mut add = |condition: &str, value: Value| {
            values.push(value);
            parts.push(condition.replace('@', &format!("?{}", values.len())));
        };
        if let Some(since) = self.since {
            add("time >= @", Value::Integer(signed(since)));
        }
        if let Some(until) = self.until {
            add("time < @", Value::Integer(signed(until)));
        }
        if let Some(sandbox) = &self.sandbox {
            add("substr(sandbox, 1, length(@)) = @", Value::Text(sandbox.clone()));
        }
        if let Some(text) = &self.text {
            let condition = "instr(lower(subject || char(10) || command || char(10) || coalesce(rule, '')), lower(@)) > 0";
            add(condition, Value::Text(text.clone()));
        }
        if !self.kinds.is_empty() {
            let names: Vec<String> = self.kinds.iter().map(|kind| kind_name(*kind)).collect();
            // Names of our own, without a quote in them.
            parts.push(format!("kind IN ('{}')", names.join("', '")));
        }
        if parts.is_empty() {
            parts.push("1".into());
        }
        (parts.join(" AND "), values)
    }

    /// What only we can judge.
    pub(super) fn fits(&self, stored: &StoredViolation) -> bool {
        let program = || stored.violation.program.as_deref().unwrap_or_default();
        self.subject.as_ref().is_none_or(|pattern| pattern.matches(&stored.violation.subject))
            && self.program.as_ref().is_none_or(|pattern| pattern.matches(program()))
    }
}

/// A kind as it is written in JSON.
pub(super) fn kind_name(kind: ViolationKind) -> String {
    match serde_json::to_value(kind) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The database counts with a sign.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
