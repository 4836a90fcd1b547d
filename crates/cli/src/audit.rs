//! `stockade audit`.

use crate::args::{AuditAct, AuditShowArgs, format_moment, format_seconds};
use crate::violations::state;
use crate::voice::Voice;
use crate::{print, refuse};
use serde_json::json;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use stockade::{AuditError, AuditEvent, AuditLog, AuditRecord, Verified, visible};

/// Checks or shows the log of decisions.
pub(crate) fn main(act: AuditAct) -> ExitCode {
    let log = AuditLog::new(&state());
    let result = match act {
        AuditAct::Verify { json } => {
            log.verify().map(|verified| if json { tell_json(&verified) } else { tell(&verified) })
        }
        AuditAct::Show(args) => show(&log, &args),
    };
    result.unwrap_or_else(|error| refuse(Voice::NORMAL, error))
}

fn tell(verified: &Verified) -> ExitCode {
    let Verified { lines, files, findings } = verified;
    if findings.is_empty() {
        return print::text(&match lines {
            0 => "sound: the audit log is empty\n".to_owned(),
            lines => {
                format!("sound: {lines} {} in {files} {}\n", plural(*lines, "line"), plural(*files, "file"))
            }
        });
    }
    for finding in findings {
        Voice::NORMAL.error(visible(&finding.to_string()));
    }
    ExitCode::FAILURE
}

fn plural(count: u64, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

fn tell_json(verified: &Verified) -> ExitCode {
    let findings: Vec<_> = verified
        .findings
        .iter()
        .map(|finding| json!({"file": finding.file, "line": finding.line, "flaw": finding.flaw.to_string()}))
        .collect();
    let told = print::json(&json!({
        "sound": verified.is_sound(), "lines": verified.lines, "files": verified.files, "findings": findings,
    }));
    if verified.is_sound() { told } else { ExitCode::FAILURE }
}

/// Line by line: the log may be larger than anybody's memory.
fn show(log: &AuditLog, args: &AuditShowArgs) -> Result<ExitCode, AuditError> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    let mut shown = 0_u64;
    let mut unreadable = 0_u64;
    log.read(|line| {
        let Some(record) = line.record else {
            unreadable += 1;
            return ControlFlow::Continue(());
        };
        if !fits(record, args) {
            return ControlFlow::Continue(());
        }
        shown += 1;
        written = if args.json {
            out.write_all(line.text).and_then(|()| out.write_all(b"\n"))
        } else {
            out.write_all(text(record).as_bytes())
        };
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    if shown == 0 && !args.json {
        written = out.write_all(b"nothing that fits is in the audit log\n");
    }
    let failed = match written.and_then(|()| out.flush()) {
        // A reader that has seen enough is not a failure.
        Err(error) => error.kind() != io::ErrorKind::BrokenPipe,
        Ok(()) => false,
    };
    if unreadable > 0 {
        Voice::NORMAL.warning(format!(
            "{unreadable} lines could not be understood\nhint: `stockade audit verify` says more"
        ));
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn fits(record: &AuditRecord, args: &AuditShowArgs) -> bool {
    args.since.is_none_or(|since| record.time >= since)
        && args.until.is_none_or(|until| record.time < until)
        && (args.kind.is_empty() || args.kind.contains(&record.event.kind()))
}

/// Commands and names come from inside sandboxes: nothing of them acts on the terminal.
fn text(record: &AuditRecord) -> String {
    let told = visible(&words(&record.event)).into_owned();
    format!("{:>6}  {}  {:7}  {told}\n", record.seq, format_moment(record.time), record.event.kind())
}

/// What a person wants to know of it, in one line.
fn words(event: &AuditEvent) -> String {
    match event {
        AuditEvent::Start { sandbox, command, cwd, preset, policy } => {
            let preset = preset.as_deref().unwrap_or("-");
            let policy = policy.get(..12).unwrap_or(policy);
            format!("{sandbox}  {command}  (in {cwd}, preset {preset}, policy {policy})")
        }
        AuditEvent::Refusal { violation } => {
            let rule = violation.rule.as_ref().map(|rule| format!("  [{rule}]")).unwrap_or_default();
            format!("{}  {} {}{rule}", violation.sandbox, name(&violation.kind), violation.subject)
        }
        AuditEvent::Ask { ask } => {
            let violation = &ask.violation;
            format!(
                "{}  question {}: {} {}",
                violation.sandbox,
                ask.id,
                name(&violation.kind),
                violation.subject
            )
        }
        AuditEvent::Answer { sandbox, id, reply, who } => {
            format!("{sandbox}  question {id}: {} by {who}", tagged(reply, "answer"))
        }
        AuditEvent::Grant { sandbox, grant } => {
            let sandbox = sandbox.as_deref().unwrap_or("-");
            format!("{sandbox}  {} by {}: {}", tagged(&grant.scope, "scope"), grant.who, grant.subject)
        }
        AuditEvent::Revoke { grant, who } => format!("{} by {who}: {}", grant.id, grant.subject),
        AuditEvent::BareRun { sandbox, command, cwd, reason } => {
            format!("{sandbox}  {command}  (in {cwd}: {reason})")
        }
        AuditEvent::End { sandbox, exit_code, duration_ms, unlisted, .. } => {
            let more = match unlisted {
                0 => String::new(),
                more => format!(", {more} more refusals"),
            };
            format!("{sandbox}  exit status {exit_code} after {} s{more}", format_seconds(*duration_ms))
        }
        AuditEvent::Gap { note, .. } => note.clone(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// A name as it is written in JSON.
fn name(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// The same for one that stands in a field.
fn tagged(value: &impl serde::Serialize, field: &str) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value[field].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(event: serde_json::Value) -> AuditRecord {
        let mut record = json!({"seq": 7, "time": 5, "prev": "p", "hash": "h"});
        record.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn lines_are_short_and_harmless() {
        for (event, expected) in [
            (
                json!({"kind": "start", "sandbox": "b", "command": "a\u{1b}\nb", "cwd": "/w", "policy": "0123456789abcdef"}),
                "start    b  a\\u{1b}\\nb  (in /w, preset -, policy 0123456789ab)\n",
            ),
            (
                json!({"kind": "answer", "sandbox": "b", "id": 3, "reply": {"answer": "once"}, "who": "tty"}),
                "answer   b  question 3: once by tty\n",
            ),
            (
                json!({"kind": "end", "sandbox": "b", "exit": {"how": "code", "code": 2}, "exitCode": 2, "durationMs": 1500, "unlisted": 4}),
                "end      b  exit status 2 after 1.5 s, 4 more refusals\n",
            ),
            (json!({"kind": "gap", "note": "lines are gone"}), "gap      lines are gone\n"),
        ] {
            let text = text(&record(event));
            assert!(text.starts_with("     7  ") && text.ends_with(expected), "{text}");
        }
    }

    #[test]
    fn filters_are_kept() {
        let gap = record(json!({"kind": "gap", "note": "n"}));
        let args = |since, until, kind: &[stockade::AuditKind]| AuditShowArgs {
            since,
            until,
            kind: kind.to_vec(),
            json: false,
        };
        assert!(fits(&gap, &args(None, None, &[])));
        assert!(fits(&gap, &args(Some(5), Some(6), &[stockade::AuditKind::Gap])));
        assert!(!fits(&gap, &args(Some(6), None, &[])));
        assert!(!fits(&gap, &args(None, Some(5), &[])));
        assert!(!fits(&gap, &args(None, None, &[stockade::AuditKind::End])));
    }
}
