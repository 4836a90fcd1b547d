use crate::testing::{inputs, load, request, usual_tree};
use crate::{Flags, Inputs, Layer, NoticeWeight, OwnPaths, Plan, Policy, Request, Shape};
use std::ffi::OsString;

fn callers() -> Vec<(OsString, OsString)> {
    [
        ("PATH", "/bin"),
        ("HOME", "/home/me"),
        ("LC_ALL", "C"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("MY_TOKEN", "t"),
        ("PLAIN", "p"),
        ("LD_PRELOAD", "/evil.so"),
        ("NODE_OPTIONS", "--require x"),
        ("CARGO_HOME", "/home/me/.cargo"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .to_vec()
}

fn value<'a>(plan: &'a Plan, name: &str) -> Option<&'a str> {
    plan.environment
        .iter()
        .find(|variable| variable.name == name)
        .and_then(|variable| variable.value.to_str())
}

fn plan(policy: &Policy) -> Plan {
    policy.plan(&Request { environment: callers(), ..request() }, &usual_tree()).unwrap()
}

#[test]
fn only_harmless_names_cross() {
    let plan = plan(&Policy::load(inputs(), &usual_tree()).unwrap());
    for (name, wanted) in [
        ("PATH", Some("/bin")),
        ("LC_ALL", Some("C")),
        ("AWS_SECRET_ACCESS_KEY", None),
        ("MY_TOKEN", None),
        ("PLAIN", None),
        ("LD_PRELOAD", None),
        ("NODE_OPTIONS", None),
        ("CARGO_HOME", Some("/tmp/.cache/cargo")),
        ("TMPDIR", Some("/tmp")),
    ] {
        assert_eq!(value(&plan, name), wanted, "{name}");
    }
    let told = plan.notices.iter().find(|notice| notice.text.contains("do not cross")).unwrap();
    assert_eq!(told.weight, NoticeWeight::Detail);
    assert!(told.text.contains("MY_TOKEN") && !told.text.contains("/evil.so"));
}

#[test]
fn names_and_values_that_were_asked_for() {
    let flags = Flags {
        env_pass: vec!["MY_TOKEN".into(), "LD_PRELOAD".into(), "CARGO_HOME".into()],
        env_set: vec![("NEW".into(), "n".into()), ("PATH".into(), "/x".into())],
        ..Flags::default()
    };
    let own = OwnPaths { tool_cache: Some("/cache/ws".into()), ..inputs().own };
    let plan = plan(&Policy::load(Inputs { flags, own, ..inputs() }, &usual_tree()).unwrap());
    assert_eq!(value(&plan, "MY_TOKEN"), Some("t"));
    assert_eq!(value(&plan, "LD_PRELOAD"), None);
    assert_eq!(value(&plan, "CARGO_HOME"), Some("/home/me/.cargo"));
    assert_eq!(value(&plan, "GOCACHE"), Some("/cache/ws/go-build"));
    assert_eq!((value(&plan, "NEW"), value(&plan, "PATH")), (Some("n"), Some("/x")));
    assert!(
        plan.notices
            .iter()
            .any(|notice| notice.text.contains("LD_PRELOAD") && notice.weight == NoticeWeight::Warning)
    );
}

#[test]
fn inheriting_everything_or_nothing() {
    let with = |text: &str| plan(&load(&usual_tree(), Layer::User, Shape::Native, text).unwrap());
    let all = with(r#"{"environment": {"inherit": "all", "deny": ["NODE_*"]}}"#);
    assert_eq!(value(&all, "PLAIN"), Some("p"));
    assert_eq!(
        (value(&all, "MY_TOKEN"), value(&all, "NODE_OPTIONS"), value(&all, "LD_PRELOAD")),
        (None, None, None)
    );
    let none = with(r#"{"environment": {"inherit": "none", "allow": ["PLAIN"], "set": {"A": "b"}}}"#);
    assert_eq!(
        (value(&none, "PLAIN"), value(&none, "PATH"), value(&none, "A")),
        (Some("p"), None, Some("b"))
    );
}

#[test]
fn srt_inherits() {
    let text = r#"{"network": {"allowedDomains": ["a.example"], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []},
        "git": {"safeDirectories": ["/ws", "/other"]},
        "credentials": {"allowPlaintextInject": true, "envVars": [
            {"name": "MY_TOKEN", "mode": "deny"}, {"name": "PLAIN", "mode": "mask", "injectHosts": ["a.example"]}]}}"#;
    let plan = plan(&load(&usual_tree(), Layer::User, Shape::Srt, text).unwrap());
    for (name, wanted) in [
        ("AWS_SECRET_ACCESS_KEY", Some("s")),
        ("LD_PRELOAD", Some("/evil.so")),
        ("MY_TOKEN", None),
        ("PLAIN", Some("fake_value_PLAIN")),
        ("CARGO_HOME", Some("/home/me/.cargo")),
        ("SANDBOX_RUNTIME", Some("1")),
        ("TMPDIR", Some("/dev/shm/tmp")),
        ("GIT_CONFIG_COUNT", Some("3")),
        ("GIT_CONFIG_KEY_0", Some("safe.directory")),
        ("GIT_CONFIG_VALUE_1", Some("/other")),
        ("GIT_CONFIG_KEY_2", Some("rerere.enabled")),
        ("GIT_CONFIG_VALUE_2", Some("false")),
    ] {
        assert_eq!(value(&plan, name), wanted, "{name}");
    }
}

#[test]
fn srt_uses_its_own_temporary_directory_when_it_is_there() {
    let text = r#"{"network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}"#;
    let tree = usual_tree().directory("/tmp/claude");
    let policy = load(&tree, Layer::User, Shape::Srt, text).unwrap();
    let plan = policy.plan(&request(), &tree).unwrap();
    assert_eq!(value(&plan, "TMPDIR"), Some("/tmp/claude"));
    assert!(policy.explain("/tmp/claude/x".as_ref(), &tree).unwrap().write.allowed);
    assert!(!plan.mounts.iter().any(|mount| mount.path.starts_with("/dev/shm")));
}
