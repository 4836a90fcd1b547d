//! `stockade explain`.

use crate::args::ExplainArgs;
use crate::voice::{Voice, harmless};
use crate::{print, refuse};
use std::fmt::Write;
use std::process::ExitCode;
use stockade::{Answer, Explanation, RealFiles};

/// Says what may be done with each path, and why.
pub(crate) fn main(args: ExplainArgs) -> ExitCode {
    let ExplainArgs { policy, read, write, json, paths } = args;
    let runtime = match policy.runtime(|builder| builder) {
        Ok(runtime) => runtime,
        Err(error) => return refuse(Voice::NORMAL, error),
    };
    let mut explanations = Vec::new();
    for path in &paths {
        match runtime.policy().explain(path, &RealFiles) {
            Ok(explanation) => explanations.push(explanation),
            Err(error) => return refuse(Voice::NORMAL, error),
        }
    }
    if json {
        return print::json(&explanations);
    }
    let shown: &[&str] = match (read, write) {
        (false, false) => &["read", "write", "execute"],
        (true, false) => &["read"],
        (false, true) => &["write"],
        (true, true) => &["read", "write"],
    };
    let told: String = explanations.iter().map(|explanation| text(explanation, shown)).collect();
    print::text(&harmless(&told))
}

fn text(explanation: &Explanation, shown: &[&str]) -> String {
    let mut text = explanation.asked.display().to_string();
    if explanation.asked != explanation.resolved {
        let _ = write!(text, " -> {}", explanation.resolved.display());
    }
    text.push('\n');
    for (name, answer) in
        [("read", &explanation.read), ("write", &explanation.write), ("execute", &explanation.execute)]
    {
        if shown.contains(&name) {
            line(&mut text, name, answer);
        }
    }
    text
}

fn line(text: &mut String, name: &str, answer: &Answer) {
    let verdict = if answer.allowed { "yes" } else { "no" };
    let _ = writeln!(text, "  {name:8} {verdict:4} {}", answer.reason);
    if let Some(rule) = &answer.rule {
        let _ = writeln!(text, "                rule: {rule}");
    }
    if let Some(change) = &answer.change {
        let _ = writeln!(text, "                to change it: {change}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(allowed: bool, reason: &str) -> Answer {
        Answer { allowed, rule: None, reason: reason.into(), change: None }
    }

    #[test]
    fn only_what_was_asked_is_shown() {
        let mut explanation = Explanation {
            asked: "/a/link".into(),
            resolved: "/a/file".into(),
            read: answer(true, "everything may be read"),
            write: answer(false, "not in a writable directory"),
            execute: answer(true, "what may be read may run"),
        };
        explanation.write.change = Some("--allow-write /a/file".into());
        assert_eq!(
            text(&explanation, &["write"]),
            "/a/link -> /a/file\n  write    no   not in a writable directory\n                to change it: --allow-write /a/file\n"
        );
        assert_eq!(text(&explanation, &["read", "write", "execute"]).lines().count(), 5);
    }
}
