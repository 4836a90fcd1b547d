//! `stockade explain`.

use crate::args::ExplainArgs;
use crate::voice::{Voice, harmless};
use crate::{print, refuse};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use stockade::{Answer, Explanation, HostExplanation, RealFiles};

/// Says what may be done with each path, and why.
pub(crate) fn main(args: ExplainArgs) -> ExitCode {
    let ExplainArgs { policy, read, write, json, subjects } = args;
    let runtime = match policy.runtime(|builder| builder) {
        Ok(runtime) => runtime,
        Err(error) => return refuse(Voice::NORMAL, error),
    };
    let mut explanations = Vec::new();
    for subject in &subjects {
        let policy = runtime.policy();
        let explained = match host(subject) {
            Some(host) => policy.explain_host(host).map(Explained::host).map_err(|error| error.to_string()),
            None => {
                policy.explain(subject, &RealFiles).map(Explained::path).map_err(|error| error.to_string())
            }
        };
        match explained {
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
    let told = explanations.iter().map(|explained| match explained {
        Explained::Path(explanation) => text(explanation, shown),
        Explained::Host(explanation) => host_text(explanation),
    });
    print::text(&harmless(&told.collect::<String>()))
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Explained {
    Path(Box<Explanation>),
    Host(Box<HostExplanation>),
}

impl Explained {
    fn path(explanation: Explanation) -> Self {
        Self::Path(Box::new(explanation))
    }

    fn host(explanation: HostExplanation) -> Self {
        Self::Host(Box::new(explanation))
    }
}

/// The host a subject is about: one with a port, or in a URL. Everything else is a path, as it always was;
/// `file://` and the like are none of either.
fn host(subject: &Path) -> Option<&str> {
    let text = subject.to_str()?;
    if let Some((scheme, rest)) = text.split_once("://") {
        let known = ["http", "https", "ssh", "git", "ws", "wss", "tcp"].contains(&scheme);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        return known.then(|| authority.rsplit('@').next().unwrap_or_default());
    }
    let (name, port) = text.rsplit_once(':')?;
    (!name.contains('/') && port.parse::<u16>().is_ok() && !subject.exists()).then_some(text)
}

fn host_text(explanation: &HostExplanation) -> String {
    let mut text = format!("{}\n", explanation.asked);
    line(&mut text, "connect", &explanation.connect);
    if explanation.terminated {
        text.push_str("  its TLS is looked into\n");
    }
    for rule in &explanation.requests {
        let _ = writeln!(text, "  requests: {rule}");
    }
    text
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
