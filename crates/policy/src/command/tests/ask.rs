//! Commands that somebody wants to be asked about.

use super::{shell, tree};
use crate::testing::load;
use crate::{Approval, Consent, Decision, Layer, Policy, Request, Shape, Verdict};

fn policy(sandbox: &str, permissions: &str) -> Policy {
    let text = format!(r#"{{"sandbox": {{{sandbox}}}, "permissions": {{{permissions}}}}}"#);
    load(&tree(), Layer::User, Shape::Claude, &text).unwrap()
}

fn decide(policy: &Policy, text: &str, consent: Consent) -> Decision {
    policy.decide(&Request { consent, ..shell(text) }, &tree())
}

#[test]
fn what_a_rule_asks_about_waits_for_an_answer() {
    let policy = policy(r#""excludedCommands": ["git:*", "docker:*"]"#, r#""ask": ["Bash(git push:*)"]"#);
    for text in [
        "git push",
        "git push origin main",
        "git status && git push",
        "nohup git push",
        "sudo git push",
        "sh -c 'git push'",
        "ls | xargs git push",
    ] {
        let decision = decide(&policy, text, Consent::Missing);
        assert_eq!((decision.verdict, decision.approval), (Verdict::Ask, Approval::Needed), "{text}");
        assert_eq!(
            decision.rule.unwrap().to_string(),
            "ask Bash(git push:*) (/settings.json permissions.ask[0])"
        );
        assert!(decision.openings.is_empty() && decision.directory.is_none());
    }
    let parts = policy.decide_in_parts(&shell("ls; git push"), &tree()).parts;
    assert_eq!(parts.iter().map(|part| part.verdict).collect::<Vec<_>>(), [Verdict::Sandbox, Verdict::Ask]);
    for (text, expected) in [
        ("git status", Verdict::Unsandboxed),
        ("docker ps", Verdict::Unsandboxed),
        ("ls", Verdict::Sandbox),
        // It may be a push.
        ("git $WHAT", Verdict::Sandbox),
    ] {
        let decision = decide(&policy, text, Consent::Missing);
        assert_eq!(decision.verdict, expected, "{text}: {}", decision.reason);
    }
    // Whoever was asked and said yes gets what there would be without the rule.
    assert_eq!(decide(&policy, "git push", Consent::Given).verdict, Verdict::Unsandboxed);
    assert_eq!(decide(&policy, "git push; ls", Consent::Given).verdict, Verdict::Sandbox);
}

#[test]
fn a_rule_that_denies_comes_first() {
    let rules = r#""ask": ["Bash(git push:*)"], "deny": ["Bash(git push --force:*)"]"#;
    let policy = policy("", rules);
    for consent in [Consent::Missing, Consent::Given] {
        assert_eq!(decide(&policy, "git push --force", consent).verdict, Verdict::Refuse);
    }
}

#[test]
fn asking_about_everything_is_about_what_has_no_walls() {
    for rule in ["Bash", "Bash(*)"] {
        let policy = policy(r#""excludedCommands": ["docker:*"]"#, &format!(r#""ask": ["{rule}"]"#));
        assert_eq!(decide(&policy, "docker ps", Consent::Missing).verdict, Verdict::Ask);
        assert_eq!(decide(&policy, "docker ps", Consent::Given).verdict, Verdict::Unsandboxed);
        assert_eq!(decide(&policy, "ls", Consent::Missing).verdict, Verdict::Sandbox);
    }
}

#[test]
fn without_walls_nothing_unreadable_runs_unasked() {
    let policy = policy(r#""enabled": false"#, r#""ask": ["Bash(git push:*)"]"#);
    for (text, expected) in [
        ("ls", Verdict::Unsandboxed),
        ("git push", Verdict::Ask),
        ("git $WHAT", Verdict::Ask),
        ("for x in a; do git $x; done", Verdict::Ask),
    ] {
        assert_eq!(decide(&policy, text, Consent::Missing).verdict, expected, "{text}");
        assert_eq!(decide(&policy, text, Consent::Given).verdict, Verdict::Unsandboxed, "{text}");
    }
}

#[test]
fn rules_about_other_tools_are_told_and_broken_ones_refused() {
    let told = policy("", r#""ask": ["Edit(/x)"]"#);
    assert!(told.notices().iter().any(|notice| notice.text.contains("permissions.ask[0] Edit(/x)")));
    for broken in ["Bash(", "Bash()", "Bash(a*:*)"] {
        let text = format!(r#"{{"permissions": {{"ask": ["{broken}"]}}}}"#);
        assert!(load(&tree(), Layer::User, Shape::Claude, &text).is_err(), "{broken}");
    }
}
