//! What is said after a run.

use crate::args::format_seconds;
use crate::voice::Voice;
use std::fmt::Write;
use std::io;
use stockade::{Exit, Limits, Outcome, Violation, ViolationKind};

/// More than this would bury the command's own last words.
const SHOWN: usize = 20;

/// Says how it ended, where that is not the command's own business, and what was refused.
pub(super) fn say(voice: Voice, program: &str, limits: &Limits, outcome: &Outcome) {
    match outcome.exit {
        Exit::NotStarted { errno: libc::ENOENT } => voice.error(format!("{program}: command not found")),
        Exit::NotStarted { errno } => voice.error(format!("{program}: {}", words_for(errno))),
        Exit::TimedOut => {
            let limit = limits.max_execution_time.unwrap_or(outcome.duration_ms);
            voice.error(format!("timed out after {} s", format_seconds(limit)));
        }
        Exit::Code { .. } | Exit::Signal { .. } | Exit::Cancelled { .. } => {}
    }
    if outcome.truncated {
        let limit = limits.max_output.unwrap_or_default();
        voice.closing(format!("the output was cut after {limit} bytes"));
    }
    // The time limit has had its own line.
    let told =
        |violation: &&Violation| outcome.exit == Exit::TimedOut && violation.kind == ViolationKind::Limit;
    let violations: Vec<&Violation> =
        outcome.violations.iter().filter(|violation| !told(violation)).collect();
    if !violations.is_empty() {
        voice.closing(refusals(&violations));
    } else if let Some(reason) = &outcome.blocked_reason
        && outcome.exit != Exit::TimedOut
    {
        voice.closing(format!("probably refused: {reason}"));
    }
    voice.detail(format!(
        "exit status {} after {} s",
        outcome.exit_code,
        format_seconds(outcome.duration_ms)
    ));
}

/// The system's words for an error, without its number.
fn words_for(errno: i32) -> String {
    let text = io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// Each refusal and how to allow it.
fn refusals(violations: &[&Violation]) -> String {
    let mut text = match violations.len() {
        1 => "1 act was refused".to_owned(),
        count => format!("{count} acts were refused"),
    };
    for violation in violations.iter().take(SHOWN) {
        let kind = serde_json::to_value(violation.kind).unwrap_or_default();
        let _ = write!(text, "\n  {} {}", kind.as_str().unwrap_or_default(), violation.subject);
        if let Some(rule) = &violation.rule {
            let _ = write!(text, ": {rule}");
        }
        if let Some(suggestion) = &violation.suggestion {
            let _ = write!(text, "\n    hint: {suggestion}");
        }
    }
    if violations.len() > SHOWN {
        let _ = write!(text, "\n  ... and {} more", violations.len() - SHOWN);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(subject: &str) -> Violation {
        Violation {
            seq: 1,
            time: 0,
            sandbox: "s".into(),
            command: "c".into(),
            pid: 2,
            program: None,
            kind: ViolationKind::Write,
            subject: subject.into(),
            reason: String::new(),
            rule: None,
            suggestion: Some("--allow-write /x".into()),
        }
    }

    #[test]
    fn refusals_name_the_act_and_the_remedy() {
        assert_eq!(
            refusals(&[&violation("/x")]),
            "1 act was refused\n  write /x\n    hint: --allow-write /x"
        );
    }

    #[test]
    fn a_flood_is_summed_up() {
        let many: Vec<Violation> = (0..30).map(|number| violation(&format!("/{number}"))).collect();
        let text = refusals(&many.iter().collect::<Vec<_>>());
        assert!(text.starts_with("30 acts were refused\n"));
        assert!(text.ends_with("\n  ... and 10 more"));
    }
}
