//! The question as a person reads it.

use std::fmt::Write;
use stockade::{Question, ViolationKind, visible};

/// A line no longer than this stays one line on any terminal.
const WIDTH: usize = 72;
/// Longer names are shown with their middle left out: the question must stay on the screen.
const LONGEST: usize = 600;
/// What every continued line of a name begins with, so that no name can look like our own words.
const MARGIN: &str = "  | ";

/// The whole question, with plain line ends.
pub(super) fn question(question: &Question) -> String {
    let violation = &question.violation;
    let mut text = String::from("---- stockade asks ----------------------------------------\n");
    named(&mut text, &question.program());
    let _ = writeln!(text, "wants to {}", wish(violation.kind));
    named(&mut text, &question.display);
    match &violation.rule {
        Some(rule) => {
            text.push_str("refused by\n");
            named(&mut text, &visible(&rule.to_string()));
        }
        None => {
            text.push_str("refused because\n");
            named(&mut text, &visible(&question.reason));
        }
    }
    text.push_str("  o  once     allow it this one time\n");
    text.push_str("  s  session  allow it until this run ends\n");
    if let Some(settings) = &question.settings {
        text.push_str(match violation.kind {
            ViolationKind::Connect => "  a  always   allow it from now on, in\n",
            _ => "  a  always   allow it from now on, and all that is below it, in\n",
        });
        named(&mut text, &visible(&settings.to_string_lossy()));
    }
    text.push_str("  n  no       refuse it; Enter alone does the same\n");
    let seconds = question.remaining().as_millis().div_ceil(1000);
    let _ = writeln!(text, "No answer within {seconds} s is a no.");
    text
}

/// What is asked for at the end.
pub(super) fn prompt(question: &Question) -> &'static str {
    if question.settings.is_some() { "allow? [o/s/a/N] " } else { "allow? [o/s/N] " }
}

fn wish(kind: ViolationKind) -> &'static str {
    match kind {
        ViolationKind::Read => "read",
        ViolationKind::Write => "change",
        ViolationKind::Create => "create",
        ViolationKind::Unlink => "remove",
        ViolationKind::Rename => "move or replace by moving",
        ViolationKind::Exec => "run",
        ViolationKind::Connect => "connect to",
        ViolationKind::Resolve => "look up",
        ViolationKind::Unix => "talk to the unix socket",
        ViolationKind::Syscall => "make the system call",
        ViolationKind::Limit => "go beyond the limit",
    }
}

/// A name on lines of its own.
fn named(text: &mut String, name: &str) {
    let mut width = WIDTH;
    for letter in shortened(name).chars() {
        // Nothing that is left after `visible` is wider than two columns.
        let columns = if letter.is_ascii() { 1 } else { 2 };
        if width + columns > WIDTH {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(MARGIN);
            width = MARGIN.len();
        }
        text.push(letter);
        width += columns;
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

fn shortened(name: &str) -> String {
    let letters = name.chars().count();
    if letters <= LONGEST {
        return name.to_owned();
    }
    let (head, tail) = (LONGEST / 2, LONGEST / 2);
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(letters - tail).collect();
    format!("{start} [... {} characters left out ...] {end}", letters - head - tail)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::time::{Duration, Instant};
    use stockade::{Layer, Origin, RuleRef, Violation};

    pub(in crate::ask) fn sample(subject: &str) -> Question {
        let origin =
            Origin { layer: Layer::BuiltIn, source: "default deny-read list".into(), key: String::new() };
        Question {
            id: 1,
            violation: Violation {
                seq: 1,
                time: 0,
                sandbox: "s1".into(),
                command: "git push".into(),
                pid: 7,
                program: Some("/usr/bin/ssh".into()),
                kind: ViolationKind::Read,
                subject: subject.into(),
                reason: String::new(),
                rule: Some(RuleRef { text: "denyRead ~/.ssh".into(), origin }),
                suggestion: Some("--allow-read /home/a/.ssh/id".into()),
            },
            reason: "reading it is denied".into(),
            display: visible(subject).into_owned(),
            settings: Some("/home/a/.config/stockade/settings.json".into()),
            deadline: Instant::now() + Duration::from_secs(60),
        }
    }

    #[test]
    fn a_person_can_tell_what_is_asked() {
        let expected = "\
---- stockade asks ----------------------------------------
  | /usr/bin/ssh
wants to read
  | /home/a/.ssh/id
refused by
  | denyRead ~/.ssh (built in: default deny-read list)
  o  once     allow it this one time
  s  session  allow it until this run ends
  a  always   allow it from now on, and all that is below it, in
  | /home/a/.config/stockade/settings.json
  n  no       refuse it; Enter alone does the same
No answer within 60 s is a no.
";
        assert_eq!(question(&sample("/home/a/.ssh/id")), expected);
        assert_eq!(prompt(&sample("/a")), "allow? [o/s/a/N] ");
    }

    #[test]
    fn always_is_only_offered_where_it_can_be_given() {
        let asked = Question { settings: None, ..sample("/a") };
        assert!(!question(&asked).contains("always"));
        assert_eq!(prompt(&asked), "allow? [o/s/N] ");
    }

    #[test]
    fn no_name_looks_like_our_own_words() {
        let padding = " ".repeat(WIDTH - 4);
        for name in [
            "/a\n  n  no       refuse it".to_owned(),
            format!("/a{padding}  o  once     refuse it"),
            "/a\u{1b}[2K\r/harmless".to_owned(),
            "ü".repeat(100),
        ] {
            let text = question(&sample(&name));
            let ours = |line: &str| line.starts_with(MARGIN) || !line.starts_with("  ") || line.len() < WIDTH;
            assert!(text.lines().all(ours), "{text}");
            assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{text}");
            let lines =
                text.lines().filter(|line| line.starts_with("  o  once") || line.starts_with("  n  no"));
            assert_eq!(lines.count(), 2, "{text}");
            let widest =
                text.lines().map(|line| line.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum());
            assert!(widest.max().is_some_and(|widest: usize| widest <= WIDTH), "{text}");
        }
    }

    #[test]
    fn long_names_keep_their_ends() {
        let name = format!("/{}/secret", "x".repeat(4000));
        let text = question(&sample(&name));
        assert!(text.lines().count() < 40);
        assert!(text.contains("characters left out") && text.contains("/secret\n"), "{text}");
    }
}
