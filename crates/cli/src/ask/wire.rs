//! The lines of `--ask fd:N`.

use serde::{Deserialize, Serialize};
use stockade::{Question, Reply, RuleRef, ViolationKind};

/// A line from us.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub(super) enum Said<'a> {
    Ask(Box<AskLine<'a>>),
    /// Nobody waits for the answer any more.
    Expired {
        id: u64,
    },
    /// A line of theirs meant nothing.
    Error {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        message: &'a str,
    },
    /// Good to know.
    Notice {
        message: &'a str,
    },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AskLine<'a> {
    id: u64,
    sandbox: &'a str,
    kind: ViolationKind,
    subject: &'a str,
    display: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<&'a str>,
    pid: u32,
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a RuleRef>,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<&'a str>,
    options: &'static [&'static str],
    timeout_ms: u64,
}

impl<'a> AskLine<'a> {
    pub(super) fn new(question: &'a Question) -> Self {
        let violation = &question.violation;
        Self {
            id: question.id,
            sandbox: &violation.sandbox,
            kind: violation.kind,
            subject: &violation.subject,
            display: &question.display,
            program: violation.program.as_deref(),
            pid: violation.pid,
            command: &violation.command,
            rule: violation.rule.as_ref(),
            reason: &question.reason,
            suggestion: violation.suggestion.as_deref(),
            options: match question.settings {
                Some(_) => &["once", "session", "until", "always", "deny"],
                None => &["once", "session", "deny"],
            },
            timeout_ms: u64::try_from(question.remaining().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// A line from them. Keys that stand there twice or are not known are mistakes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerLine {
    id: u64,
    answer: String,
    #[serde(default)]
    until: Option<u64>,
}

/// An answer that can be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) id: u64,
    pub(super) reply: Reply,
}

/// A line that cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) id: Option<u64>,
    pub(super) message: String,
}

/// Reads one line of theirs.
pub(super) fn read(line: &[u8], now: u64) -> Result<Answer, Mistake> {
    // The parser would take an array for the members in their order.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(Mistake { id: None, message: "not an answer: it has to be a JSON object".into() });
    }
    let said: AnswerLine = serde_json::from_slice(line).map_err(|error| Mistake {
        id: serde_json::from_slice::<serde_json::Value>(line)
            .ok()
            .and_then(|value| value.get("id")?.as_u64()),
        message: format!("not an answer: {error}"),
    })?;
    let mistake = |message: String| Mistake { id: Some(said.id), message };
    let reply = match (said.answer.as_str(), said.until) {
        ("deny", None) => Reply::Deny,
        ("once", None) => Reply::Once,
        ("session", None) => Reply::Session,
        ("always", None) => Reply::Always,
        ("until", Some(until)) if until > now => Reply::Until { until },
        ("until", Some(_)) => return Err(mistake("until is in the past".into())),
        ("until", None) => return Err(mistake("until needs a time, in milliseconds since 1970".into())),
        ("deny" | "once" | "session" | "always", Some(_)) => {
            return Err(mistake(format!("{} has no until", said.answer)));
        }
        (other, _) => return Err(mistake(format!("{other:?} is not an answer"))),
    };
    Ok(Answer { id: said.id, reply })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        for (line, reply) in [
            (r#"{"id":3,"answer":"once"}"#, Reply::Once),
            (r#" { "answer" : "session", "id": 3 } "#, Reply::Session),
            (r#"{"id":3,"answer":"always"}"#, Reply::Always),
            (r#"{"id":3,"answer":"deny"}"#, Reply::Deny),
            (r#"{"id":3,"answer":"until","until":1001}"#, Reply::Until { until: 1001 }),
        ] {
            assert_eq!(read(line.as_bytes(), 1000), Ok(Answer { id: 3, reply }), "{line}");
        }
    }

    #[test]
    fn whatever_else_is_a_mistake() {
        for (line, id) in [
            (&b"nonsense"[..], None),
            (b"", None),
            (b"[]", None),
            (br#"[3,"once",null]"#, None),
            (b"null", None),
            (b"\xff\xfe", None),
            (br#"{"id":3}"#, Some(3)),
            (br#"{"id":-3,"answer":"once"}"#, None),
            (br#"{"id":"3","answer":"once"}"#, None),
            (br#"{"id":3.5,"answer":"once"}"#, None),
            (br#"{"id":3,"answer":"Once"}"#, Some(3)),
            (br#"{"id":3,"answer":"yes"}"#, Some(3)),
            (br#"{"id":3,"answer":true}"#, Some(3)),
            (br#"{"id":3,"answer":"deny","answer":"once"}"#, Some(3)),
            (br#"{"id":4,"id":3,"answer":"once"}"#, Some(3)),
            (br#"{"id":3,"answer":"once","scope":"/"}"#, Some(3)),
            (br#"{"id":3,"answer":"once","until":2000}"#, Some(3)),
            (br#"{"id":3,"answer":"until"}"#, Some(3)),
            (br#"{"id":3,"answer":"until","until":1000}"#, Some(3)),
            (br#"{"id":3,"answer":"once"}{"id":4,"answer":"once"}"#, None),
        ] {
            let mistake = read(line, 1000).unwrap_err();
            assert_eq!(mistake.id, id, "{}", String::from_utf8_lossy(line));
        }
    }
}
