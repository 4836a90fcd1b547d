//! The order in which a request is judged, and what the settings may say about it.

use super::{decide, policy, shell, tree};
use crate::testing::{inputs, load, request, settings_file};
use crate::{
    Approval, BareWish, CommandLine, Inputs, Layer, NoticeWeight, Policy, Request, Shape, Verdict, Walls,
};

fn verdict(settings: &str, request: &Request) -> (Verdict, bool) {
    let decision = policy(settings).decide(request, &tree());
    (decision.verdict, decision.approval.is_needed())
}

fn broken() -> Walls {
    Walls::Unavailable { reason: "no user namespaces".into() }
}

#[test]
fn the_chain_in_its_order() {
    let bare = Request { bare: BareWish::Bare, ..shell("ls") };
    let without = Request { walls: broken(), ..shell("ls") };
    let usual = r#"{"excludedCommands": ["docker*"]}"#;
    for (settings, request, expected) in [
        ("{}", shell("ls"), (Verdict::Sandbox, false)),
        (r#"{"enabled": false}"#, shell("ls"), (Verdict::Unsandboxed, true)),
        (r#"{"enabled": false}"#, without.clone(), (Verdict::Unsandboxed, true)),
        (r#"{"enabledPlatforms": ["linux"]}"#, shell("ls"), (Verdict::Sandbox, false)),
        (r#"{"enabledPlatforms": ["macos", "wsl"]}"#, shell("ls"), (Verdict::Unsandboxed, true)),
        (r#"{"enabledPlatforms": []}"#, shell("ls"), (Verdict::Unsandboxed, true)),
        // Walls that cannot be built: nothing runs, unless the user said so.
        ("{}", without.clone(), (Verdict::Refuse, false)),
        (r#"{"failIfUnavailable": true}"#, without.clone(), (Verdict::Refuse, false)),
        (r#"{"failIfUnavailable": false}"#, without.clone(), (Verdict::Unsandboxed, true)),
        (r#"{"failIfUnavailable": false}"#, shell("ls"), (Verdict::Sandbox, false)),
        // A wish is heard where it may be.
        ("{}", bare.clone(), (Verdict::Refuse, false)),
        (r#"{"allowUnsandboxedCommands": true}"#, bare.clone(), (Verdict::Unsandboxed, true)),
        (r#"{"allowUnsandboxedCommands": true}"#, shell("ls"), (Verdict::Sandbox, false)),
        // No command.
        ("{}", shell(""), (Verdict::Refuse, false)),
        ("{}", shell(" \t\n"), (Verdict::Refuse, false)),
        (r#"{"excludedCommands": ["*"]}"#, shell("# nothing"), (Verdict::Sandbox, false)),
        // Listed.
        (usual, shell("docker ps"), (Verdict::Unsandboxed, true)),
        (usual, shell("ls"), (Verdict::Sandbox, false)),
        // A listed command is no answer to walls that are missing.
        (usual, Request { walls: broken(), ..shell("docker ps") }, (Verdict::Refuse, false)),
        // Whether a person is asked is a fact of its own.
        (r#"{"autoAllowBashIfSandboxed": false}"#, shell("ls"), (Verdict::Sandbox, true)),
        (r#"{"autoAllowBashIfSandboxed": true}"#, shell("ls"), (Verdict::Sandbox, false)),
    ] {
        assert_eq!(verdict(settings, &request), expected, "{settings} {request:?}");
    }
}

#[test]
fn every_answer_names_its_rule() {
    for (settings, request, rule) in [
        (r#"{"enabled": false}"#, shell("ls"), "enabled false (/settings.json enabled)"),
        (
            r#"{"enabledPlatforms": ["macos"]}"#,
            shell("ls"),
            "enabledPlatforms macos (/settings.json enabledPlatforms)",
        ),
        (
            r#"{"failIfUnavailable": false}"#,
            Request { walls: broken(), ..shell("ls") },
            "failIfUnavailable false (/settings.json failIfUnavailable)",
        ),
        (
            r#"{"excludedCommands": ["a", "docker*"]}"#,
            shell("docker ps"),
            "excludedCommands docker* (/settings.json excludedCommands[1])",
        ),
        (
            r#"{"commands": {"deny": [{"program": "rm", "args": ["-rf*"]}]}}"#,
            shell("ls; rm -rf /"),
            "deny rm -rf* (/settings.json commands.deny[0])",
        ),
    ] {
        let decision = policy(settings).decide(&request, &tree());
        assert_eq!(decision.rule.map(|rule| rule.to_string()).as_deref(), Some(rule), "{settings}");
        assert!(!decision.reason.is_empty());
    }
}

#[test]
fn parts_are_told_with_their_own_answers() {
    let policy = policy(r#"{"excludedCommands": ["docker*"]}"#);
    let decision = decide(&policy, "docker ps && rm x | docker load < /etc/x");
    let told: Vec<(&str, Verdict)> =
        decision.parts.iter().map(|part| (part.text.as_str(), part.verdict)).collect();
    assert_eq!(
        told,
        [
            ("docker ps", Verdict::Unsandboxed),
            ("rm x", Verdict::Sandbox),
            ("docker load < /etc/x", Verdict::Sandbox)
        ]
    );
    assert!(decision.parts[2].reason.contains("/etc/x"), "{:?}", decision.parts[2]);
    assert!(decision.reason.contains("rm x"), "{}", decision.reason);
    // Without rules nobody needs the parts, and whoever wants them gets them.
    let plain = super::policy("{}");
    assert!(decide(&plain, "a && b").parts.is_empty());
    let asked = plain.decide_in_parts(&shell("a && b $(c)"), &tree());
    let texts: Vec<&str> = asked.parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(texts, ["a", "b $(c)", "c"]);
    let unclear = plain.decide_in_parts(&shell("if a; then b; fi"), &tree());
    let texts: Vec<&str> = unclear.parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(texts, ["a", "b"]);
}

#[test]
fn words_are_one_part() {
    let policy = policy(r#"{"excludedCommands": ["docker:*", "say 'a b'"]}"#);
    let argv = |words: &[&str]| Request {
        command: CommandLine::Argv(words.iter().map(Into::into).collect()),
        ..shell("")
    };
    for (words, expected) in [
        (&["docker", "ps"][..], Verdict::Unsandboxed),
        // No shell looks at these.
        (&["docker", "$(rm x)", "; rm x", "a b"], Verdict::Unsandboxed),
        (&["say", "a b"], Verdict::Unsandboxed),
        (&["say", "a", "b"], Verdict::Sandbox),
        (&["docker ps"], Verdict::Sandbox),
        (&["env", "CI=1", "docker"], Verdict::Unsandboxed),
        (&["env", "A=1", "docker"], Verdict::Unsandboxed),
        // No shell, so a program like any other.
        (&["time", "CI=1", "docker"], Verdict::Sandbox),
        (&["env", "LD_PRELOAD=x", "docker"], Verdict::Sandbox),
        (&["A=1", "docker"], Verdict::Sandbox),
    ] {
        let decision = policy.decide(&argv(words), &tree());
        assert_eq!(decision.verdict, expected, "{words:?} {}", decision.reason);
        assert_eq!(decision.parts.len(), 1);
    }
}

#[test]
fn only_the_user_takes_walls_down() {
    let text =
        r#"{"excludedCommands": ["docker*"], "enabledPlatforms": ["macos"], "failIfUnavailable": false}"#;
    for layer in [Layer::Project, Layer::Managed] {
        let policy = load(&tree(), layer, Shape::Native, text).unwrap();
        for request in [shell("docker ps"), shell("ls")] {
            assert_eq!(policy.decide(&request, &tree()).verdict, Verdict::Sandbox, "{layer:?}");
        }
        let without = Request { walls: broken(), ..request() };
        assert_eq!(policy.decide(&without, &tree()).verdict, Verdict::Refuse, "{layer:?}");
        let warned = policy.notices().iter().filter(|notice| notice.weight == NoticeWeight::Warning);
        let told: Vec<&str> = warned.map(|notice| notice.text.as_str()).collect();
        for key in ["excludedCommands[0] (docker*)", "enabledPlatforms (macos)", "failIfUnavailable (false)"]
        {
            assert_eq!(told.iter().filter(|text| text.contains(key)).count(), 1, "{key} in {told:#?}");
        }
    }
}

#[test]
fn others_may_tighten() {
    let user = r#"{"enabledPlatforms": ["macos"], "failIfUnavailable": false}"#;
    let stricter = r#"{"enabledPlatforms": ["linux"], "failIfUnavailable": true, "autoAllowBashIfSandboxed": false,
        "commands": {"deny": [{"program": "reboot"}]}}"#;
    let tree = tree().text("/settings.json", user).text("/strict.json", stricter);
    for layer in [Layer::Project, Layer::Managed] {
        let mut strict = settings_file(layer, Shape::Native);
        strict.path = "/strict.json".into();
        let settings = vec![settings_file(Layer::User, Shape::Native), strict];
        let policy = Policy::load(Inputs { settings, ..inputs() }, &tree).unwrap();
        let told = policy.decide(&shell("reboot"), &tree);
        assert_eq!(told.verdict, Verdict::Refuse, "{layer:?}");
        let expected = if layer == Layer::Managed { Verdict::Sandbox } else { Verdict::Unsandboxed };
        // The user is heard after the project, and before the organisation.
        let told = policy.decide(&shell("ls"), &tree);
        assert_eq!((told.verdict, told.approval), (expected, Approval::Needed), "{layer:?}");
    }
}

#[test]
fn what_cannot_be_meant_is_an_error() {
    for (text, expected) in [
        (r#"{"excludedCommands": [""]}"#, "excludedCommands[0]"),
        (r#"{"excludedCommands": ["a", ":*"]}"#, "excludedCommands[1]"),
        (r#"{"excludedCommands": ["a*b:*"]}"#, "excludedCommands[0]"),
        (r#"{"excludedCommands": "a"}"#, "excludedCommands"),
        (r#"{"enabledPlatforms": ["linus"]}"#, "did you mean linux?"),
        (r#"{"enabledPlatforms": ["plan9"]}"#, "enabledPlatforms[0]"),
        (r#"{"failIfUnavailable": "no"}"#, "failIfUnavailable"),
        (r#"{"commands": {"deny": [{"args": ["x"]}]}}"#, "program"),
        (r#"{"commands": {"deny": [{"program": " "}]}}"#, "commands.deny[0].program"),
        (r#"{"commands": {"deny": ["rm"]}}"#, "commands.deny[0]"),
        (r#"{"commands": {"denied": []}}"#, "denied"),
    ] {
        let error = load(&tree(), Layer::User, Shape::Native, text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    for text in [
        "FOO=1 npm test",
        "env npm test:*",
        "timeout 30 x*",
        "cd x && y",
        "Bash(docker:*)",
        "docker:",
        "docker > /etc/x",
        "docker $X",
        "docker\\nps",
        "docker\u{a0}ps",
        "docker\\n*",
    ] {
        let policy = policy(&format!(r#"{{"excludedCommands": ["{text}"]}}"#));
        assert!(policy.commands.excluded.is_empty(), "{text}");
        let told = policy.notices().iter().any(|notice| notice.text.contains("fits no command"));
        assert!(told, "{text}: {:?}", policy.notices());
    }
    let usual = policy(super::EXCLUDED);
    assert!(
        !usual.notices().iter().any(|notice| notice.text.contains("fits no command")),
        "{:?}",
        usual.notices()
    );
    let all = policy(r#"{"excludedCommands": ["*"]}"#);
    assert!(all.notices().iter().any(|notice| notice.text.contains("every simple command")));
}
