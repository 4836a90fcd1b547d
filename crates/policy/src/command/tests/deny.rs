//! Commands that are refused, and the examples that rules carry.

use super::{decide, policy, shell, tree};
use crate::testing::load;
use crate::{BareWish, Layer, Request, Shape, Verdict};

const DENY: &str = r#"{"excludedCommands": ["docker*"], "commands": {"deny": [
    {"program": "rm", "args": ["-*r*", "/"], "reason": "not the whole machine"},
    {"program": "git", "args": ["push", "--force*"]},
    {"program": "mkfs*"},
    {"program": "/opt/tool/run"},
    {"program": "docker", "args": ["--privileged"]}]}}"#;

#[test]
fn a_denied_command_is_found_wherever_it_stands() {
    let policy = policy(DENY);
    for text in [
        "rm -rf /",
        "rm / -fr",
        "/bin/rm -r -f /",
        "ls && rm -rf /",
        "ls; (cd x; rm -rf /)",
        "echo $(rm -rf /)",
        "echo `rm -rf /`",
        "cat <(rm -rf /)",
        "cat <<EOF\n$(rm -rf /)\nEOF",
        "if true; then rm -rf /; fi",
        "for x in a; do rm -rf /; done",
        "f() { rm -rf /; }; f",
        "A=1 rm -rf /",
        "env A=1 rm -rf /",
        "timeout 5 nice rm -rf /",
        "sudo rm -rf /",
        "sudo -u root -n rm -rf /",
        "sudo A=1 rm -rf /",
        "doas -u root rm -rf /",
        "echo / | xargs -n 1 rm -rf /",
        "sudo env timeout 3 rm -rf /",
        "busybox rm -rf /",
        "r\\m '-rf' \"/\"",
        "sh -c 'rm -rf /'",
        "bash -lc 'ls; rm -rf /'",
        "sudo sh -c \"rm -rf /\"",
        "eval 'rm -rf /'",
        "eval rm -rf /",
        "env -S 'rm -rf /'",
        "ls\nrm -rf /",
        "git push --force",
        "git push origin main --force-with-lease",
        "git -C x push --force",
        "mkfs.ext4 /dev/sda",
        "/sbin/mkfs -t ext4 x",
        "/opt/tool/run",
        "docker run --privileged x",
        // The rest does not parse; what could be seen is enough.
        "rm -rf /; fi; done",
    ] {
        let decision = decide(&policy, text);
        assert_eq!(decision.verdict, Verdict::Refuse, "{text}");
        assert!(decision.rule.is_some() && !decision.approval.is_needed(), "{text}");
        assert!(decision.parts.iter().any(|part| part.verdict == Verdict::Refuse), "{text}");
    }
    assert_eq!(decide(&policy, "ls; rm -rf /").reason, "not the whole machine");
}

#[test]
fn others_are_not() {
    let policy = policy(DENY);
    for text in [
        "rm -rf ./build",
        "rm /",
        "echo rm -rf /",
        "echo 'rm -rf /'",
        "git push",
        "git commit -m 'push --force'",
        "command -v mkfs",
        "run",
        "/opt/tool/run2",
        "cat <<'EOF'\n$(rm -rf /)\nEOF",
        "# rm -rf /",
        "docker run x",
    ] {
        assert_ne!(decide(&policy, text).verdict, Verdict::Refuse, "{text}");
    }
}

#[test]
fn a_denial_holds_without_walls_too() {
    let bare = r#"{"enabled": false, "allowUnsandboxedCommands": true, "commands": {"deny": [{"program": "reboot"}]}}"#;
    let policy = policy(bare);
    let wish = |text: &str| Request { bare: BareWish::Bare, ..shell(text) };
    assert_eq!(policy.decide(&wish("reboot"), &tree()).verdict, Verdict::Refuse);
    assert_eq!(policy.decide(&wish("ls"), &tree()).verdict, Verdict::Unsandboxed);
    // Nobody can tell what these run, and there is no wall to catch it.
    for text in
        ["$X", "x=reb; ${x}oot", "for x in reboot; do $x; done", "eval \"$X\"", "reboo\\\nt", "${X:-reboot}"]
    {
        let decision = policy.decide(&wish(text), &tree());
        assert_eq!((decision.verdict, decision.approval.is_needed()), (Verdict::Ask, true), "{text}");
    }
    let long = format!("true {}", "x".repeat(100_000));
    assert_eq!(policy.decide(&wish(&long), &tree()).verdict, Verdict::Ask);
    // Behind walls they may run.
    let walled = super::policy(r#"{"commands": {"deny": [{"program": "reboot"}]}}"#);
    assert_eq!(decide(&walled, "$X").verdict, Verdict::Sandbox);
}

#[test]
fn examples_are_tried_when_the_rules_are_read() {
    let rule = |examples: &str| {
        format!(
            r#"{{"commands": {{"deny": [{{"program": "git", "args": ["reset", "--hard"], {examples}}}]}}}}"#
        )
    };
    let good = rule(
        r#""match": ["git reset --hard", "cd x && sudo git reset HEAD --hard"], "notMatch": ["git reset"]"#,
    );
    load(&tree(), Layer::User, Shape::Native, &good).unwrap();
    for (examples, expected) in [
        (r#""match": ["git reset --hard", "git reset --merge"]"#, "commands.deny[0].match[1]"),
        (r#""notMatch": ["git reset --hard"]"#, "commands.deny[0].notMatch[0]"),
    ] {
        let error = load(&tree(), Layer::User, Shape::Native, &rule(examples)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn whoever_denies_everything_means_it() {
    let text = r#"{"permissions": {"deny": ["Bash"]}}"#;
    let policy = load(&tree(), Layer::User, Shape::Claude, text).unwrap();
    let long = format!("true {}", "x".repeat(100_000));
    for text in ["ls", "$X", "./x", "if a; then b; fi", "A=1", long.as_str()] {
        assert_eq!(decide(&policy, text).verdict, Verdict::Refuse, "{text}");
    }
    let text = r#"{"permissions": {"deny": ["Bash(rm -rf:*)", "Bash(curl:*)"]}}"#;
    let policy = load(&tree(), Layer::Project, Shape::Claude, text).unwrap();
    for (text, expected) in [
        ("rm -rf x", Verdict::Refuse),
        ("ls && /bin/rm -rf x", Verdict::Refuse),
        ("timeout 5 curl example.org", Verdict::Refuse),
        ("rm -r x", Verdict::Sandbox),
        ("curly", Verdict::Sandbox),
    ] {
        assert_eq!(decide(&policy, text).verdict, expected, "{text}");
    }
}
