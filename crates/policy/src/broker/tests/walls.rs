use super::{judge_with, list};
use crate::testing::{Tree, inputs, load, request, usual_tree};
use crate::{Flags, Inputs, Judge, Layer, Policy, Shape, Switch, ViolationKind};
use ViolationKind::{Connect, Create, Exec, Read, Rename, Unlink, Write};

fn tree() -> Tree {
    usual_tree().files(&[
        "/home/me/.ssh/id",
        "/ws/.env",
        "/ws/.git/hooks/x",
        "/ws/.git/config",
        "/ws/.vscode/x",
        "/ws/deep/keep/x",
        "/ws/deep/hide/x",
        "/etc/hosts",
    ])
}

#[test]
fn the_rule_behind_a_wall() {
    let flags =
        Flags { deny_write: list(&["./deep/keep"]), deny_read: list(&["./deep/hide"]), ..Flags::default() };
    let judge = judge_with(flags, &tree());
    let deny = Switch::Refused;
    let may = Switch::Allowed;
    for (path, kind, rule, suggestion, grantable) in [
        ("/etc/hosts", Write, "", "--allow-write /etc/hosts", may),
        // Nothing less than the whole directory would do, and that is the system's.
        ("/etc/new", Create, "", "", may),
        ("/etc", Write, "", "", may),
        ("/etc/hosts", Unlink, "", "", may),
        ("/RAN", Unlink, "", "", may),
        // Nor the whole home.
        ("/home/me/new", Create, "", "", may),
        ("/home/me/deep/new", Create, "", "--allow-write /home/me/deep", may),
        ("/etc/stockade", Create, "", "", deny),
        ("/etc/claude-code/managed-settings.json", Create, "", "", deny),
        ("/home/me/.ssh/id", Read, "denyRead ~/.ssh", "--allow-read /home/me/.ssh/id", may),
        ("/home/me/.ssh/id", Write, "denyRead ~/.ssh", "--allow-read /home/me/.ssh/id", may),
        ("/ws/.env", Read, "denyRead **/.env", "--allow-read /ws/.env", may),
        ("/ws/.env", Unlink, "denyRead **/.env", "--allow-read /ws/.env", may),
        ("/ws/.git/hooks/x", Write, "protected .git/hooks", "", deny),
        ("/ws/.git/hooks/new", Create, "protected .git/hooks", "", deny),
        ("/ws/.vscode/x", Write, "protected .vscode", "", deny),
        ("/ws/deep/keep/x", Write, "denyWrite ./deep/keep", "", may),
        ("/ws/deep/hide/x", Read, "denyRead ./deep/hide", "--allow-read /ws/deep/hide/x", may),
        ("/ws/deep", Rename, "denyRead ./deep/hide", "", deny),
        ("/proc/sys/kernel/x", Write, "", "", deny),
    ] {
        let why = judge.why_not(path.as_ref(), kind).unwrap_or_else(|| panic!("{path} {kind:?}"));
        let text = why.rule.as_ref().map(|rule| rule.text.as_str()).unwrap_or_default();
        assert_eq!(text, rule, "{path} {kind:?}: {why:?}");
        assert_eq!(why.suggestion.as_deref().unwrap_or_default(), suggestion, "{path} {kind:?}");
        assert_eq!(why.grantable, grantable, "{path} {kind:?}");
    }
}

#[test]
fn what_the_file_system_itself_refused() {
    let judge = judge_with(Flags::default(), &tree());
    for (path, kind) in [
        ("/etc/hosts", Read),
        ("/etc/hosts", Exec),
        ("/ws/x", Write),
        ("/ws/x", Rename),
        ("/ws/.git/config", Write),
        ("/tmp/x", Create),
        ("/dev/null", Write),
        ("/ws/x", Connect),
    ] {
        assert_eq!(judge.why_not(path.as_ref(), kind), None, "{path} {kind:?}");
    }
}

#[test]
fn limited_reading_and_running() {
    let tree = tree();
    let policy = Policy::load(Inputs { preset: Some("strict".into()), ..inputs() }, &tree).unwrap();
    let judge = Judge::new(&policy.plan(&request(), &tree).unwrap());
    let why = judge.why_not("/home/me/x".as_ref(), Read).unwrap();
    assert_eq!(why.suggestion.as_deref(), Some("--allow-read /home/me/x"));
    let why = judge.why_not("/ws/x".as_ref(), Create).unwrap();
    assert_eq!(why.suggestion.as_deref(), Some("--allow-write /ws"));
    let text = r#"{"filesystem": {"denyExecute": ["./deep"]}}"#;
    let policy = load(&tree, Layer::User, Shape::Native, text).unwrap();
    let judge = Judge::new(&policy.plan(&request(), &tree).unwrap());
    let why = judge.why_not("/ws/deep/run".as_ref(), Exec).unwrap();
    assert_eq!(why.rule.unwrap().text, "denyExecute ./deep");
    assert_eq!(judge.why_not("/ws/run".as_ref(), Exec), None);
}
