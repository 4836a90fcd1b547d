//! `stockade explain`.

use crate::args::ExplainArgs;
use crate::voice::{Voice, harmless};
use crate::{print, refuse};
use std::fmt::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use stockade::{Answer, Explanation, HostExplanation, RealFiles, visible};

/// Says what may be done with each path, and why.
pub(crate) fn main(args: ExplainArgs) -> ExitCode {
    let ExplainArgs { policy, read, write, json, subjects } = args;
    let runtime = match policy.runtime(|builder| builder) {
        Ok(runtime) => runtime,
        Err(error) => return refuse(Voice::NORMAL, error),
    };
    let subjects: Vec<PathBuf> = subjects.into_iter().map(at_home).collect();
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
    let told = explanations.iter().zip(&subjects).map(|(explained, subject)| match explained {
        Explained::Path(explanation) => {
            text(explanation, shown) + &host_hint(subject) + socket_hint(explanation)
        }
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

/// A quoted `~` means what it means in a rule.
fn at_home(subject: PathBuf) -> PathBuf {
    let Ok(rest) = subject.strip_prefix("~") else { return subject };
    let environment: Vec<_> = std::env::vars_os().collect();
    match stockade::home(&environment) {
        // Without a last slash, which would want a directory.
        Some(home) if rest.as_os_str().is_empty() => home,
        Some(home) => home.join(rest),
        None => subject,
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

/// Whoever names a host without a port gets an answer about a file, and should know it.
fn host_hint(subject: &Path) -> String {
    match subject.to_str() {
        Some(name) if is_host_name(name) && subject.symlink_metadata().is_err() => {
            format!("  {name} was read as a path; to ask about the host, write {name}:443\n")
        }
        _ => String::new(),
    }
}

/// Connecting to a socket is another matter than reading or writing a file.
fn socket_hint(explanation: &Explanation) -> &'static str {
    let found = std::fs::symlink_metadata(&explanation.resolved);
    match found.is_ok_and(|found| found.file_type().is_socket()) {
        true => {
            "  it is a socket: only those that allowUnixSockets or --allow-unix names can be connected to\n"
        }
        false => "",
    }
}

/// Whether it looks like the name or the address of a host: a file can have such a name, too.
fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_last = |label: &str| label.len() > 1 && label.bytes().all(|byte| byte.is_ascii_alphabetic());
    let named = name.rsplit_once('.').is_some_and(|(_, last)| is_last(last)) && name.split('.').all(is_label);
    named || name == "localhost" || name.parse::<std::net::Ipv4Addr>().is_ok()
}

fn host_text(explanation: &HostExplanation) -> String {
    let mut text = format!("{}\n", explanation.asked);
    line(&mut text, "connect", &explanation.connect);
    if explanation.terminated {
        text.push_str("  its TLS is looked into\n");
    }
    for rule in &explanation.requests {
        let _ = writeln!(text, "  requests: {}", visible(&rule.to_string()));
    }
    text
}

fn text(explanation: &Explanation, shown: &[&str]) -> String {
    let mut text = visible(&explanation.asked.to_string_lossy()).into_owned();
    if explanation.asked != explanation.resolved {
        let _ = write!(text, " -> {}", visible(&explanation.resolved.to_string_lossy()));
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
    let _ = writeln!(text, "  {name:8} {verdict:4} {}", visible(&answer.reason));
    if let Some(rule) = &answer.rule {
        let _ = writeln!(text, "                rule: {}", visible(&rule.to_string()));
    }
    if let Some(change) = &answer.change {
        let _ = writeln!(text, "                to change it: {}", visible(change));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(allowed: bool, reason: &str) -> Answer {
        Answer { allowed, rule: None, reason: reason.into(), change: None }
    }

    #[test]
    fn what_looks_like_a_host() {
        for host in ["evil.test", "a.b-c.example.org", "localhost", "10.1.2.3"] {
            assert!(is_host_name(host), "{host}");
            let hint = host_hint(Path::new(host));
            assert!(hint.contains("read as a path") && hint.contains(&format!("{host}:443")), "{hint}");
        }
        for path in ["evil", ".env", "a/evil.test", "./evil.test", "x.7z", "a..b", "a b.test", "~.test", "."]
        {
            assert!(!is_host_name(path), "{path}");
        }
        // This one is there.
        assert_eq!(host_hint(Path::new("Cargo.toml")), "");
    }

    #[test]
    fn nothing_passes_for_a_line_of_ours() {
        let mut text = String::new();
        line(&mut text, "connect", &answer(false, "because\n  connect  yes  it is fine"));
        assert_eq!(text, "  connect  no   because\\n  connect  yes  it is fine\n");
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
