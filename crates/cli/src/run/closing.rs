//! What is said after a run.

use crate::args::format_seconds;
use crate::stderr::Haste;
use crate::voice::Voice;
use std::collections::HashMap;
use std::fmt::Write;
use std::io;
use stockade::{Exit, IgnoreList, Limits, Outcome, Violation, ViolationKind, visible};

/// More than this would bury the command's own last words.
const SHOWN: usize = 20;

/// What was to be run.
pub(crate) struct Program<'a> {
    pub(crate) name: &'a str,
    /// Said where it is not found.
    pub(crate) not_found_hint: Option<&'a str>,
    pub(crate) hints: Hints,
}

/// What the options that hints name are options of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hints {
    /// The command that was given.
    ThisRun,
    /// The one that made the session: it keeps its policy.
    NewSession,
}

/// Whether the last words wait for whoever reads slowly.
pub(crate) fn haste_of(outcome: &Outcome) -> Haste {
    match outcome.exit {
        Exit::TimedOut | Exit::Cancelled { .. } => Haste::Great,
        Exit::Code { .. } | Exit::Signal { .. } | Exit::NotStarted { .. } => Haste::None,
    }
}

/// The same of a program there is more to say about.
/// Says how it ended, where that is not the command's own business, and what was refused.
pub(crate) fn say(
    voice: Voice,
    program: &Program<'_>,
    limits: &Limits,
    outcome: &Outcome,
    ignored: &IgnoreList,
) {
    let Program { name, not_found_hint, hints } = program;
    match outcome.exit {
        Exit::NotStarted { errno: libc::ENOENT } => {
            let hint = not_found_hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            // A script that is there may begin with the name of a program that is not.
            let what = if name.contains('/') {
                "there is no such file inside, or it needs one"
            } else {
                "command not found"
            };
            voice.error(format!("{}: {what}{hint}", visible(name)));
        }
        Exit::NotStarted { errno } => voice.error(format!("{}: {}", visible(name), words_for(errno))),
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
    let (hidden, shown): (Vec<&Violation>, Vec<&Violation>) =
        outcome.violations.iter().filter(|violation| !told(violation)).partition(|one| ignored.hides(one));
    let refused =
        Refused { shown: &shown, hidden: hidden.len(), more: outcome.more_violations, hints: *hints };
    if let Some(text) = refused.text() {
        voice.closing(text);
    } else if let Some(reason) = &outcome.blocked_reason
        && outcome.exit != Exit::TimedOut
    {
        voice.closing(format!("probably refused: {}", visible(reason)));
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

/// What is to be said about refusals.
struct Refused<'a> {
    shown: &'a [&'a Violation],
    /// How many the settings hide.
    hidden: usize,
    /// How many nobody kept one by one.
    more: u64,
    hints: Hints,
}

impl Refused<'_> {
    /// Each refusal, why, and how to allow it; nothing where nothing was refused.
    fn text(&self) -> Option<String> {
        let Self { shown, hidden, more, hints } = self;
        let mut text = match (shown.len() as u64 + more, hidden) {
            (0, 0) => return None,
            (0, 1) => return Some("1 act was refused, which the settings ignore".to_owned()),
            (0, hidden) => return Some(format!("{hidden} acts were refused, which the settings ignore")),
            (1, _) => "1 act was refused".to_owned(),
            (count, _) => format!("{count} acts were refused"),
        };
        let joined = joined(shown);
        for (violation, count) in joined.iter().take(SHOWN) {
            text.push_str(&words(violation, *count));
        }
        let left: u64 = joined.iter().skip(SHOWN).map(|(_, count)| count).sum();
        if left + more > 0 {
            let _ = write!(text, "\n  ... and {} more", left + more);
        }
        if *hidden > 0 {
            let _ = write!(text, "\n  {hidden} more, which the settings ignore");
        }
        if *hints == Hints::NewSession && shown.iter().any(|violation| violation.suggestion.is_some()) {
            text.push_str("\n  (hints are for `stockade sessions new`: a session keeps its policy)");
        }
        Some(text)
    }
}

/// A program that tries again and again says it once. What was refused for another reason, or by another rule, is
/// another thing: one line can say only one of them.
fn joined<'a>(violations: &[&'a Violation]) -> Vec<(&'a Violation, u64)> {
    let mut joined: Vec<(&Violation, u64)> = Vec::new();
    let mut known = HashMap::new();
    for violation in violations {
        let Violation { kind, subject, reason, rule, suggestion, .. } = violation;
        let at = *known.entry((kind, subject, reason, rule, suggestion)).or_insert(joined.len());
        match joined.get_mut(at) {
            Some((_, count)) => *count += 1,
            None => joined.push((violation, 1)),
        }
    }
    joined
}

/// Names are as the command chose them: nothing in them may act on the terminal or pass for a line of ours.
fn words(violation: &Violation, count: u64) -> String {
    let kind = serde_json::to_value(violation.kind).unwrap_or_default();
    let mut text = format!("\n  {} {}", kind.as_str().unwrap_or_default(), visible(&violation.subject));
    if count > 1 {
        let _ = write!(text, " ({count} times)");
    }
    if !violation.reason.is_empty() {
        let _ = write!(text, ": {}", visible(&violation.reason));
    }
    if let Some(rule) = &violation.rule {
        let _ = write!(text, "\n    by {}", visible(&rule.to_string()));
    }
    if let Some(suggestion) = &violation.suggestion {
        let _ = write!(text, "\n    hint: {}", visible(suggestion));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade::{Layer, Origin, RuleRef};

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
            reason: "no rule allows it".into(),
            rule: None,
            suggestion: Some("--allow-write /x".into()),
        }
    }

    fn text(shown: &[Violation], hidden: usize, more: u64) -> String {
        let shown = &shown.iter().collect::<Vec<_>>();
        Refused { shown, hidden, more, hints: Hints::ThisRun }.text().unwrap_or_default()
    }

    #[test]
    fn a_session_keeps_its_policy() {
        let violation = violation("/x");
        let text = |shown: &Violation| {
            Refused { shown: &[shown], hidden: 0, more: 0, hints: Hints::NewSession }.text().unwrap()
        };
        assert!(
            text(&violation).ends_with("(hints are for `stockade sessions new`: a session keeps its policy)")
        );
        let without = Violation { suggestion: None, ..violation.clone() };
        assert!(!text(&without).contains("sessions new"));
    }

    #[test]
    fn refusals_name_the_act_the_rule_and_the_remedy() {
        let origin = Origin { layer: Layer::User, source: "/s.json".into(), key: "k[0]".into() };
        let ruled = Violation {
            rule: Some(RuleRef { text: "denyWrite /y".into(), origin }),
            suggestion: None,
            ..violation("/y")
        };
        assert_eq!(
            text(&[violation("/x"), ruled], 0, 0),
            "2 acts were refused\n  write /x: no rule allows it\n    hint: --allow-write /x\n  \
             write /y: no rule allows it\n    by denyWrite /y (/s.json k[0])"
        );
        assert_eq!(text(&[], 0, 0), "");
    }

    #[test]
    fn a_flood_is_summed_up() {
        let many: Vec<Violation> = (0..30).map(|number| violation(&format!("/{number}"))).collect();
        let text = text(&many, 2, 500);
        assert!(text.starts_with("530 acts were refused\n"), "{text}");
        assert!(text.ends_with("\n  ... and 510 more\n  2 more, which the settings ignore"), "{text}");
    }

    #[test]
    fn the_same_is_said_once() {
        let text = text(&[violation("/a"), violation("/b"), violation("/a"), violation("/a")], 0, 0);
        assert!(text.starts_with("4 acts were refused\n  write /a (3 times): "), "{text}");
        assert_eq!(text.matches("/a").count(), 1, "{text}");
    }

    /// One reason in the place of two would be wrong for one of them.
    #[test]
    fn what_was_refused_for_two_reasons_is_said_twice() {
        let late = Violation { reason: "the answer is too long".into(), ..violation("/a") };
        let text = text(&[violation("/a"), late.clone(), violation("/a"), late], 0, 0);
        assert!(text.contains("write /a (2 times): no rule allows it"), "{text}");
        assert!(text.contains("write /a (2 times): the answer is too long"), "{text}");
    }

    #[test]
    fn what_the_settings_hide_is_counted() {
        assert_eq!(text(&[], 1, 0), "1 act was refused, which the settings ignore");
        assert_eq!(text(&[], 3, 0), "3 acts were refused, which the settings ignore");
    }

    #[test]
    fn names_do_not_pass_for_lines_of_ours() {
        let text = text(&[violation("/a\nstockade: 0 acts were refused\u{202e}\u{1b}[2J")], 0, 0);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("/a\\nstockade: 0 acts were refused\\u{202e}\\u{1b}[2J"), "{text}");
    }
}
