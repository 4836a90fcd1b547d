//! Texts that nobody writes: an answer comes soon, and it is never the wrong one.

use super::{EXCLUDED, decide, policy};
use crate::{CommandLine, Request, Verdict};
use proptest::prelude::*;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

/// Generous: these tests run unoptimised on busy machines. Optimised it is a tenth of that.
const LONGEST: Duration = Duration::from_secs(2);

#[test]
fn long_and_deep_texts_get_an_answer_in_time() {
    let policy = policy(EXCLUDED);
    let nested = |open: &str, close: &str, count: usize| {
        format!("{}docker{}", open.repeat(count), close.repeat(count))
    };
    for text in [
        nested("(", ")", 30_000),
        nested("( ", " )", 20_000),
        nested("$(", ")", 20_000),
        nested("echo $(", ")", 8_000),
        nested("echo \"$(", ")\"", 6_000),
        nested("`", "`", 30_000),
        nested("{ ", "; }", 15_000),
        nested("<(", ")", 20_000),
        nested("echo ${x:-", "}", 5_000),
        nested("if ", " ; then x; fi", 3_000),
        nested("case x in x) ", ";; esac", 3_000),
        nested("[[ ", " ]]", 10_000),
        nested("((", "))", 15_000),
        nested("!", "", 60_000),
        nested("! ", "", 30_000),
        nested("<<A ", "", 15_000),
        nested("<", "", 60_000),
        nested("'", "'", 30_000),
        nested("\"", "\"", 30_000),
        nested("\\", "", 60_000),
        nested("a=", "", 30_000),
        nested("env ", "", 16_000),
        nested("docker && ", "", 6_000),
        nested("docker\n", "", 9_000),
        nested("{a,", "}", 15_000),
        nested("docker $x ", "", 6_000),
        format!("docker {}", "x".repeat(1_000_000)),
        format!("docker {}", "x ".repeat(30_000)),
        format!("cat <<EOF\n{}EOF\n", "text\n".repeat(12_000)),
    ] {
        let begun = Instant::now();
        let decision = decide(&policy, &text);
        let took = begun.elapsed();
        assert!(took < LONGEST, "{took:?} for {}", &text[..40]);
        assert!(matches!(decision.verdict, Verdict::Sandbox | Verdict::Unsandboxed));
        if text.len() > 64 * 1024 {
            assert_eq!(decision.verdict, Verdict::Sandbox);
        }
    }
}

#[test]
fn many_rules_and_texts_in_texts_get_one_too() {
    let rules: Vec<String> = (0..30)
        .map(|at| format!(r#"{{"program": "evil{at}", "args": ["x"], "notMatch": ["sh -c true"]}}"#))
        .collect();
    let text = format!(
        r#"{{"excludedCommands": ["a*", "sh*", "docker*"], "commands": {{"deny": [{}]}}}}"#,
        rules.join(",")
    );
    let bare = policy(&text.replacen('{', r#"{"enabled": false, "#, 1));
    let (policy, plain) = (policy(&text), policy("{}"));
    let nested =
        |open: &str, close: &str, count: usize| format!("{}{}", open.repeat(count), close.repeat(count));
    let mut split = format!("{}-S 'x'", "env ".repeat(12));
    for _ in 0..4 {
        split = format!("{}-S '{}'", "env ".repeat(12), split.replace('\'', "'\\''"));
    }
    for text in [
        split,
        "env ".repeat(16_000),
        format!("sudo -x {}", "evil1 ".repeat(10_000)),
        format!("sudo -x {}", "sh -c 'a b' ".repeat(5_000)),
        nested("a $(", ")", 11_000),
        nested("A=$(", ")", 12_000),
        nested("a=(", ")", 20_000),
        nested("a=(", "", 20_000),
        "a;".repeat(30_000),
        "a $x;".repeat(10_000),
        "a > x;".repeat(9_000),
        "a>x;b>x;".repeat(480),
        (0..990).map(|at| format!("a{at};")).collect(),
        "sh -c 'a';".repeat(6_000),
        "sh -c 'if a; then b; fi';".repeat(2_500),
        format!("sh -c '{}'", "if a; then b; fi;".repeat(3_500)),
        "watch 'a b' 'c d' 'e f';".repeat(2_000),
        nested("a \"$(", ")\"", 49),
        nested("if a; then ", "fi;", 4_000),
    ] {
        for policy in [&policy, &bare, &plain] {
            let begun = Instant::now();
            let decision = policy.decide_in_parts(&super::shell(&text), &super::tree());
            let took = begun.elapsed();
            assert!(took < LONGEST, "{took:?} for {}", &text[..40]);
            assert!(decision.parts.len() <= 2_002, "{} for {}", decision.parts.len(), &text[..40]);
            assert!(decision.parts.iter().all(|part| part.text.len() <= 210));
        }
    }
}

#[test]
fn bytes_that_are_no_text_stay_behind_walls() {
    let policy = policy(EXCLUDED);
    for bytes in [&b"docker \xff"[..], b"docker\0rm", b"\xef\xbb\xbfdocker ps", b"docker ps\xc2\x85rm"] {
        let command = CommandLine::Shell(OsString::from_vec(bytes.to_vec()));
        let request = Request { command, ..super::shell("") };
        assert_eq!(policy.decide(&request, &super::tree()).verdict, Verdict::Sandbox, "{bytes:?}");
    }
    let words = vec!["docker".into(), OsString::from_vec(b"\xff".to_vec())];
    let request = Request { command: CommandLine::Argv(words), ..super::shell("") };
    assert_eq!(policy.decide(&request, &super::tree()).verdict, Verdict::Sandbox);
}

/// Pieces that mean something to a shell.
const PIECES: &[&str] = &[
    "docker", "rm", "x", " ", " ", "  ", "\n", "\t", ";", "&", "&&", "|", "||", "(", ")", "{", "}", "<", ">",
    "<<", "<<E", "E", "\nE\n", "'", "\"", "`", "$", "$(", "${", "\\", "#", "=", "A=", "!", "*", "[", "]",
    "<(", ">(", "2>&1", "env", "time", "-", "é", "\r", "if", "then", "fi", "((", "))", "$'", "~",
];

proptest! {
    /// No text makes it panic, and what is certain about one word stays with it: a text in which something
    /// other than a listed program stands first in a part never runs without walls.
    #[test]
    fn whatever_comes_is_answered(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24)) {
        let text = pieces.concat();
        let policy = policy(r#"{"excludedCommands": ["docker:*"]}"#);
        let decision = decide(&policy, &text);
        if decision.verdict == Verdict::Unsandboxed {
            for part in &decision.parts {
                prop_assert!(part.text.contains("docker"), "{text:?} {part:?}");
            }
        }
    }
}
