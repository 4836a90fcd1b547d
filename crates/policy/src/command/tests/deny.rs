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
        // Options that are grouped or not known: every later word may be the program.
        "sudo -nu root rm -rf /",
        "xargs -0n 1 rm -rf /",
        "timeout -vk 1 5 rm -rf /",
        "env -C /tmp rm -rf /",
        "env -iu X rm -rf /",
        "env -i rm -rf /",
        "exec -a foo rm -rf /",
        "/usr/bin/time -f %e rm -rf /",
        "xargs --replace={} rm -rf /",
        "nice -n $X rm -rf /",
        "sudo -nu root env A=1 sh -c 'rm -rf /'",
        // Other programs that start programs.
        "coproc rm -rf /",
        "find . -name x -exec rm -rf / ;",
        "find . -exec true {} + -exec rm -rf / ;",
        "find . -execdir sudo -n rm -rf / \\;",
        "su -c 'rm -rf /'",
        "su root -c 'ls; rm -rf /'",
        "pkexec rm -rf /",
        "flock /tmp/x rm -rf /",
        "flock x -c 'rm -rf /'",
        "watch -n 1 'rm -rf /'",
        "parallel rm -rf ::: /",
        "script -c 'rm -rf /' x",
        "chroot /mnt rm -rf /",
        "strace -f -o x rm -rf /",
        "unshare -r rm -rf /",
        "taskset 1 rm -rf /",
        "chrt -f 1 rm -rf /",
        "systemd-run --user rm -rf /",
        // Text for other shells, with options in between.
        "bash -c -- 'rm -rf /'",
        "bash -c -e 'rm -rf /'",
        "env -vS 'rm -rf /'",
        "env --split-string 'rm -rf /'",
        "env -S rm -rf /",
        "trap 'rm -rf /' EXIT",
        "$'rm' -rf /",
        // The rest does not parse; what could be seen is enough.
        "rm -rf /; fi; done",
    ] {
        let decision = decide(&policy, text);
        assert_eq!(decision.verdict, Verdict::Refuse, "{text}");
        assert!(decision.rule.is_some() && !decision.approval.is_needed(), "{text}");
        assert!(decision.parts.iter().any(|part| part.verdict == Verdict::Refuse), "{text}");
    }
    assert_eq!(decide(&policy, "ls; rm -rf /").reason, "not the whole machine");
    let long = format!("rm -rf /;{}", "a;".repeat(30_000));
    assert_eq!(decide(&policy, &long).verdict, Verdict::Refuse);
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
        // What stands behind known options is the program, and what follows it is not.
        "sudo echo rm -rf /",
        "timeout -k 1 5 echo rm -rf /",
        "xargs grep rm -rf /",
        "find / -name rm -not -path -rf",
        "bash script.sh rm -rf /",
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
    let bare = r#"{"enabled": false, "commands": {"deny": [{"program": "rm", "args": ["-rf"]}]}}"#;
    let policy = super::policy(bare);
    for (text, expected) in [
        ("sh -c \"$X\"", Verdict::Ask),
        ("sh -c \"rm -rf $D\"", Verdict::Ask),
        ("rm $X x", Verdict::Ask),
        ("rm -{rf,v} x", Verdict::Ask),
        ("bash <<< 'rm -rf x'", Verdict::Ask),
        ("echo rm -rf x | sh", Verdict::Ask),
        ("echo rm -rf x | bash -s", Verdict::Ask),
        ("sh /dev/stdin <<< 'rm -rf x'", Verdict::Ask),
        ("trap \"$X\" EXIT", Verdict::Ask),
        ("trap 'rm -rf x' EXIT", Verdict::Refuse),
        ("echo -rf x | xargs rm", Verdict::Ask),
        ("sh -c 'sh -c \"$X\"'", Verdict::Ask),
        ("sh -c 'if rm; then x; fi'", Verdict::Ask),
        ("sudo -nu root $X", Verdict::Ask),
        (". ./x", Verdict::Ask),
        ("echo $X", Verdict::Unsandboxed),
        ("rm x", Verdict::Unsandboxed),
        ("sh -c 'echo $X'", Verdict::Unsandboxed),
        ("bash script.sh $X", Verdict::Unsandboxed),
        ("find . -name '*.rs' | xargs grep x", Verdict::Unsandboxed),
    ] {
        let decision = policy.decide(&shell(text), &tree());
        assert_eq!(decision.verdict, expected, "{text}: {}", decision.reason);
    }
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

#[test]
fn rules_that_could_never_refuse_anything_are_told() {
    for (rule, expected) in [
        (r#"{"program": "rm -rf"}"#, "commands.deny[0].program"),
        (r#"{"program": "sudo rm"}"#, "commands.deny[0].program"),
        (r#"{"program": "r\u00a0m"}"#, "commands.deny[0].program"),
    ] {
        let text = format!(r#"{{"commands": {{"deny": [{rule}]}}}}"#);
        let error = load(&tree(), Layer::User, Shape::Native, &text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for args in [r#"["-rf /"]"#, r#"[""]"#] {
        let policy = policy(&format!(r#"{{"commands": {{"deny": [{{"program": "rm", "args": {args}}}]}}}}"#));
        let told = policy.notices().iter().any(|notice| notice.text.contains("commands.deny[0].args[0]"));
        assert!(told, "{args}: {:?}", policy.notices());
    }
    let quiet = policy(DENY);
    assert!(!quiet.notices().iter().any(|notice| notice.text.contains("commands.deny")));
    // Many examples would take long to try, and any project may bring some.
    let examples = vec![format!("{:?}", "a;".repeat(2_000)); 40].join(",");
    let text = format!(r#"{{"commands": {{"deny": [{{"program": "rm", "notMatch": [{examples}]}}]}}}}"#);
    let error = load(&tree(), Layer::Project, Shape::Native, &text).unwrap_err().to_string();
    assert!(error.contains("too long together"), "{error}");
}

#[test]
fn options_in_front_of_a_command_do_not_hide_it() {
    let text = r#"{"sandbox": {"excludedCommands": ["git:*", "git -c a.b=push:*", "docker:*", "npm:*"]},
        "permissions": {"deny": ["Bash(git push:*)", "Bash(docker login *)", "Bash(npm publish)"]}}"#;
    let policy = load(&tree(), Layer::User, Shape::Claude, text).unwrap();
    for (text, expected) in [
        ("git push", Verdict::Refuse),
        ("git -C . push", Verdict::Refuse),
        ("git --no-pager push origin", Verdict::Refuse),
        ("git -c a.b=c push", Verdict::Refuse),
        ("git -p push", Verdict::Refuse),
        ("git --git-dir=.git push", Verdict::Refuse),
        ("git --git-dir .git --work-tree . -P push", Verdict::Refuse),
        ("git -C '' -C x --bare --namespace=x --no-optional-locks push", Verdict::Refuse),
        ("/usr/bin/git -C . push", Verdict::Refuse),
        ("sh -c 'git -C . push'", Verdict::Refuse),
        ("docker --debug -H tcp://x login y", Verdict::Refuse),
        ("npm --prefix=x publish", Verdict::Refuse),
        ("git -C . status", Verdict::Unsandboxed),
        ("git --version", Verdict::Unsandboxed),
        ("git -c a.b=push log", Verdict::Unsandboxed),
        ("git", Verdict::Unsandboxed),
        // Not known, or a push under another name.
        ("git --new push", Verdict::Sandbox),
        ("git -C $HERE push", Verdict::Refuse),
        ("git -c alias.p=push p", Verdict::Sandbox),
        ("git -c Alias.P=push p", Verdict::Sandbox),
        ("git -c include.path=x p", Verdict::Sandbox),
        ("git -C", Verdict::Sandbox),
    ] {
        let decision = policy.decide(&shell(text), &tree());
        assert_eq!(decision.verdict, expected, "{text}: {}", decision.reason);
    }
    let text =
        r#"{"sandbox": {"excludedCommands": ["git:*"]}, "permissions": {"ask": ["Bash(git push:*)"]}}"#;
    let policy = load(&tree(), Layer::User, Shape::Claude, text).unwrap();
    assert_eq!(policy.decide(&shell("git --no-pager push"), &tree()).verdict, Verdict::Ask);
}
