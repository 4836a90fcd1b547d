//! Texts that once ran something else without walls, each with the reason.

use super::{decide, policy, shell, tree};
use crate::testing::load;
use crate::{Layer, Request, Shape, Verdict};

const LISTED: &str =
    r#"{"excludedCommands": ["docker*", "npm run lint", "npm run test:*", "echo:*", "cd:*", "true"]}"#;

const ESCAPES: &[&str] = &[
    // The value of a wrapper's option becomes several words, and one of them the program.
    "nice -n {5,evil} npm run lint",
    "nice -{5,evil} npm run lint",
    "env -u {A,evil} docker",
    "env --unset {A,evil} docker",
    "timeout -k {1,2,evil} 3 docker",
    "timeout -s {KILL,5,evil} 3 docker",
    "timeout {5,evil} docker",
    "stdbuf -o {L,evil} docker",
    "ionice -c {2,evil} docker",
    "ionice --class {2,evil} docker",
    "nice -n $(echo 5 evil) docker",
    "env -u $(echo A evil) npm run lint",
    "env -u $x docker",
    "nice -n $x docker",
    "nice -n 5 timeout $x docker",
    // An expansion without quotes is split behind env.
    "env A=$(echo 1 evil) npm run lint",
    "env A=`echo 1 evil` npm run lint",
    "env CI=$(echo 1 evil) npm run lint",
    "env CI=$x npm run lint",
    "env CI={1,evil} npm run lint",
    "env A=$(echo 1 LD_PRELOAD=/ws/x.so) docker",
    // What looks like an assignment behind time is a program.
    "time a-b=/evil npm run lint",
    "time =/evil docker",
    "time 'A=/evil' docker",
    "time A'='/evil docker",
    "time -p a-b=/evil docker",
    "time -- a-b=/evil docker",
    "time CI=/evil docker",
    "\\time A=/evil docker",
    "'time' CI=/evil docker",
    "/usr/bin/time CI=/evil docker",
    "env time CI=/evil docker",
    "nice time CI=/evil docker",
    "command time CI=/evil docker",
    "exec time CI=/evil docker",
    "CI=1 time CI=/evil docker",
    "docker | time a-b=/evil docker",
    // A line that goes on makes neighbours of what stands around it.
    "(\\\n(docker '$(evil)'))",
    "docker $(\\\n(docker '$(evil)'))",
    "docker \"$(\\\n(docker '$(evil)'))\"",
    "docker <<E\n$(\\\n(docker '$(evil)'))\nE",
    "true; (\\\n(docker '$(evil)'))",
    "true | (\\\n(docker '$(evil)'))",
    "npm run lint &\\\n> out docker",
    "npm run lint & \\\n> out docker",
    "npm run lint >\\\n& out",
    "docker <<E \\\n x\nE\n",
    // The target of >& is expanded twice.
    "npm run lint >& '$(evil)'",
    "docker >&`evil`",
    "docker >& \"\\$(evil)\"",
    "docker 1>& 'x$(evil)y'",
    "(docker) >& '$(evil)'",
    "docker >& '$HOME/pwn'",
    "docker >& '~/x'",
    // Numbers that are words to some.
    "npm run lint 99999999999>out",
    "npm run lint 1024>out",
    // Files that were opened beforehand have such numbers.
    "npm run lint 100<&0 > out",
    "npm run lint > out 100>&2",
    "npm run lint 10>&1",
    "npm run lint <&100",
    "npm run lint >&100",
    "npm run lint 2>&12-",
    "(npm run lint > out) 100<&0",
    "{ npm run lint > out; } 100<&0",
    "(docker) 99999999999>out",
    "npm run lint >&99999999999",
    "time -p -p docker",
    "time -- -p docker",
    // Variables that make a program read or run something else.
    "TAR_OPTIONS=--checkpoint-action=exec=x docker",
    "PYTEST_ADDOPTS=-px npm run lint",
    "PYTEST_PLUGINS=x npm run lint",
    "RIPGREP_CONFIG_PATH=x docker",
    "VIMINIT=x docker",
    "env -i npm run lint",
    "env - npm run lint",
    "env --ignore-environment docker",
    "env -u PATH docker",
    "env -u FOO npm run lint",
    "env --unset=FOO npm run lint",
    // A here-document in brackets ends at a line that only begins like its end.
    "docker $(docker <<E\nE) ; evil\nE\n)",
    "docker $(docker <<E\nEvil)\nE\n)",
    "docker <<'E'\nE) evil\nE\n",
];

#[test]
fn no_escape_is_left() {
    let policy = policy(LISTED);
    let mut wrong = Vec::new();
    for text in ESCAPES {
        let decision = decide(&policy, text);
        if decision.verdict != Verdict::Sandbox {
            wrong.push((text, decision.reason));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_checked_behind_walls_is_not_written_without_them() {
    let text = r#"{"excludedCommands": ["echo:*", "git status"]}"#;
    let tree =
        tree().directory("/ws/.git/modules/x").directory("/ws/.git/objects").text("/ws/.git/HEAD", "ref");
    let policy = load(&tree, Layer::User, Shape::Native, text).unwrap();
    for (target, expected) in [
        ("out.txt", Verdict::Unsandboxed),
        ("sub/out.json", Verdict::Unsandboxed),
        (".git/config", Verdict::Sandbox),
        (".git/config.worktree", Verdict::Sandbox),
        (".git/modules/x/config", Verdict::Sandbox),
        (".gitattributes", Verdict::Sandbox),
        ("sub/.gitattributes", Verdict::Sandbox),
        (".npmrc", Verdict::Sandbox),
        (".github/workflows/x.yml", Verdict::Sandbox),
        ("package.json", Verdict::Sandbox),
        ("sub/package.json", Verdict::Sandbox),
        ("build.rs", Verdict::Sandbox),
        ("conftest.py", Verdict::Sandbox),
        ("x.pth", Verdict::Sandbox),
        ("githooks/pre-commit", Verdict::Sandbox),
    ] {
        let tree =
            tree.clone().directory("/ws/sub").directory("/ws/githooks").directory("/ws/.github/workflows");
        for operator in [">", ">>"] {
            let request = shell(&format!("echo '[core]\nfsmonitor=x' {operator} {target}"));
            let decision = policy.decide(&request, &tree);
            assert_eq!(decision.verdict, expected, "{target}: {}", decision.reason);
        }
    }
}

#[test]
fn other_character_sets_hide_quotes() {
    let policy = policy(LISTED);
    let ask = |text: &str, name: &str, value: &str| {
        let mut request = shell(text);
        request.environment.push((name.into(), value.into()));
        policy.decide(&request, &tree()).verdict
    };
    let hidden = "docker \"本\\\" ; evil #\"";
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
        for value in ["zh_CN.GBK", "ja_JP.SJIS", "zh_TW.BIG5", "de_DE", "zh_CN.gb18030", "x"] {
            assert_eq!(ask(hidden, name, value), Verdict::Sandbox, "{name}={value}");
            assert_eq!(ask("docker '日本'", name, value), Verdict::Sandbox, "{name}={value}");
            assert_eq!(ask("docker ps", name, value), Verdict::Unsandboxed, "{name}={value}");
        }
        for value in ["", "C", "POSIX", "C.UTF-8", "de_DE.UTF-8", "de_DE.utf8@euro"] {
            assert_eq!(ask("docker '日本'", name, value), Verdict::Unsandboxed, "{name}={value}");
        }
    }
    let set =
        super::policy(r#"{"excludedCommands": ["docker*"], "environment": {"set": {"LANG": "zh_CN.GBK"}}}"#);
    assert_eq!(decide(&set, "docker '日本'").verdict, Verdict::Sandbox);
}

#[test]
fn what_a_shell_cannot_run_does_not_end_the_search() {
    let policy = policy(LISTED);
    let ask = |tree: crate::testing::Tree, path: &str| {
        let request = Request { environment: vec![("PATH".into(), path.into())], ..shell("echo x") };
        policy.decide(&request, &tree).verdict
    };
    let path = "/usr/local/bin:/ws/bin:/usr/bin";
    assert_eq!(ask(tree().file("/usr/local/bin/echo"), path), Verdict::Unsandboxed);
    assert_eq!(ask(tree().text("/usr/local/bin/echo", "no program"), path), Verdict::Sandbox);
    assert_eq!(ask(tree().link("/usr/local/bin/echo", "/opt/gone"), path), Verdict::Sandbox);
    assert_eq!(ask(tree().link("/usr/local/bin/echo", "/opt"), path), Verdict::Sandbox);
    assert_eq!(ask(tree().link("/usr/local/bin/echo", "/usr/bin/echo"), path), Verdict::Unsandboxed);
}

#[test]
fn what_a_rule_might_deny_keeps_its_walls() {
    let policy = policy(
        r#"{"excludedCommands": ["docker*", "git:*", "npm run test:*"], "commands": {"deny": [
            {"program": "docker", "args": ["--privileged"]}, {"program": "git", "args": ["push"]}]}}"#,
    );
    for (text, expected) in [
        ("docker run --rm x", Verdict::Unsandboxed),
        ("git status", Verdict::Unsandboxed),
        ("npm run test $X {a,b}", Verdict::Unsandboxed),
        ("git push", Verdict::Refuse),
        ("docker run -{-privileged,-rm} x", Verdict::Sandbox),
        ("git {push,--force}", Verdict::Sandbox),
        ("git ${X}push", Verdict::Sandbox),
        ("git push$X", Verdict::Sandbox),
        ("git \"$X\"", Verdict::Sandbox),
        ("nice git $X", Verdict::Sandbox),
        ("git status && git $(git status)", Verdict::Sandbox),
    ] {
        let decision = decide(&policy, text);
        assert_eq!(decision.verdict, expected, "{text}: {}", decision.reason);
    }
}

/// One reader alone has to see this: the other one may be mended some day.
#[test]
fn a_line_that_begins_like_the_end_of_a_document_is_doubted() {
    use crate::command::strict;
    for text in ["docker $(docker <<E\nE) ; evil\nE\n)", "docker $(docker <<E\nEvil)\nE\n)"] {
        assert!(strict::read(text).is_err(), "{text}");
    }
    assert!(strict::read("docker $(docker <<E\nplain\nE\n)").is_ok());
}
