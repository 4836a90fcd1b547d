//! Reading the log to show it.

use super::files::{Line, Snapshot};
use super::{AuditError, AuditEvent, AuditLog};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A line with its place in the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    /// Counts up over all files.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub time: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: AuditEvent,
    /// The hash of the line before.
    pub prev: String,
    /// The hash of this line.
    pub hash: String,
}

/// A line as it was found.
#[derive(Clone, Copy, Debug)]
pub struct AuditLine<'a> {
    /// The file.
    pub file: &'a Path,
    /// The line in it, from 1.
    pub number: u64,
    /// Its text.
    pub text: &'a [u8],
    /// What it says; `None` when it cannot be understood.
    pub record: Option<&'a AuditRecord>,
}

impl AuditLog {
    /// Shows every line, oldest first, until told to stop. Nothing is checked: [`AuditLog::verify`] does that.
    pub fn read(
        &self,
        mut each: impl FnMut(AuditLine<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<(), AuditError> {
        for mut lines in Snapshot::take(&self.path, &self.head)?.files {
            while let Some(line) = lines.next()? {
                let text = match line {
                    Line::Whole(text) | Line::Unfinished(text) => text,
                    Line::TooLong => Vec::new(),
                };
                let record = serde_json::from_slice(&text).ok();
                let line = AuditLine {
                    file: &lines.path,
                    number: lines.number,
                    text: &text,
                    record: record.as_ref(),
                };
                if each(line).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
