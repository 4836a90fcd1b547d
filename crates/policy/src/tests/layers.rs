//! Who may say what, and who is heard.

use crate::testing::{inputs, load, request, settings_file, usual_tree};
use crate::{
    BareWish, CommandLine, Flags, Inputs, Layer, Limits, Need, NetworkPlan, NoticeWeight, Plan, Policy,
    Request, SettingsFile, Shape, Verdict, WallLayer, presets,
};

fn native(layer: Layer, text: &str) -> Policy {
    load(&usual_tree(), layer, Shape::Native, text).unwrap()
}

fn warnings(policy: &Policy) -> Vec<&str> {
    let loud = policy.notices().iter().filter(|notice| notice.weight == NoticeWeight::Warning);
    loud.map(|notice| notice.text.as_str()).collect()
}

fn need(plan: &Plan, layer: WallLayer) -> Option<Need> {
    plan.layers.iter().find(|need| need.layer == layer).map(|need| need.need)
}

const LOOSENING: &str = r#"{
    "preset": "unrestricted", "enabled": false, "allowUnsandboxedCommands": true, "provider": "docker",
    "filesystem": {
        "readScope": "all", "allowRead": ["/home/me/.ssh/id"], "allowWrite": ["/etc"], "allowExecute": ["/usr"],
        "allowedPaths": [{"pattern": "/etc", "operations": ["write"]}],
        "protection": {"git": "off"}, "temporary": "host"
    },
    "network": {"allowedDomains": ["a.example"], "allowAllUnixSockets": true, "allowUnixSockets": ["/run/x"]},
    "environment": {"inherit": "all", "allow": ["SECRET"], "set": {"A": "b"}}
}"#;

#[test]
fn a_project_may_only_tighten() {
    let policy = native(Layer::Project, LOOSENING);
    let told = warnings(&policy);
    for key in [
        "preset",
        "enabled",
        "allowUnsandboxedCommands",
        "provider",
        "filesystem.readScope",
        "filesystem.allowRead[0]",
        "filesystem.allowWrite[0]",
        "filesystem.allowExecute[0]",
        "filesystem.allowedPaths[0]",
        "filesystem.protection.git",
        "filesystem.temporary",
        "network.allowedDomains[0]",
        "network.allowAllUnixSockets",
        "network.allowUnixSockets[0]",
        "environment.inherit",
        "environment.allow[0]",
        "environment.set.A",
    ] {
        let named = told
            .iter()
            .filter(|text| text.contains(&format!("/settings.json {key}")) && text.contains("ignored"));
        assert_eq!(named.count(), 1, "{key} in {told:#?}");
    }
    assert_eq!(policy.preset(), "default");
    assert_eq!(policy.decide(&request(), &usual_tree()).verdict, Verdict::Sandbox);
    assert!(!policy.explain("/etc".as_ref(), &usual_tree()).unwrap().write.allowed);
}

#[test]
fn a_project_does_tighten() {
    let tree = usual_tree().files(&["/ws/secret", "/ws/keep"]);
    let text = r#"{"filesystem": {"denyRead": ["secret"], "denyWrite": ["keep"], "readScope": "workspace"},
        "limits": {"maxExecutionTime": 5}, "environment": {"deny": ["LANG"]}, "requireLayers": "all"}"#;
    let policy = load(&tree, Layer::Project, Shape::Native, text).unwrap();
    assert!(warnings(&policy).is_empty());
    let told = policy.explain("/ws/secret".as_ref(), &tree).unwrap();
    assert!(!told.read.allowed);
    assert_eq!(
        told.read.rule.unwrap().to_string(),
        "denyRead secret (/settings.json filesystem.denyRead[0])"
    );
    assert!(!policy.explain("/ws/keep".as_ref(), &tree).unwrap().write.allowed);
    assert!(!policy.explain("/home/me".as_ref(), &tree).unwrap().read.allowed);
    let plan = policy.plan(&request(), &tree).unwrap();
    assert_eq!(plan.limits.max_execution_time, Some(5));
    assert_eq!(need(&plan, WallLayer::Landlock), Some(Need::Required));
}

#[test]
fn managed_settings_cannot_be_weakened() {
    let tree = usual_tree()
        .files(&["/home/me/x/y", "/ws/keep"])
        .text("/managed.json", r#"{"enabled": true, "filesystem": {"denyRead": ["~/x"], "denyWrite": ["./keep"], "allowWrite": ["/etc"]}, "limits": {"maxMemory": 1000}}"#)
        .text("/user.json", r#"{"enabled": false, "filesystem": {"allowRead": ["~/x/y"], "allowWrite": ["/ws/keep"]}, "limits": {"maxMemory": 5000}}"#);
    let file = |path: &str, layer| SettingsFile { path: path.into(), ..settings_file(layer, Shape::Native) };
    // The order of the files does not matter, the order of the layers does.
    let settings = vec![file("/managed.json", Layer::Managed), file("/user.json", Layer::User)];
    let policy =
        Policy::load(Inputs { settings, preset: Some("unrestricted".into()), ..inputs() }, &tree).unwrap();
    assert_eq!(policy.preset(), "default");
    assert_eq!(policy.decide(&request(), &usual_tree()).verdict, Verdict::Sandbox);
    assert!(!policy.explain("/home/me/x/y".as_ref(), &tree).unwrap().read.allowed);
    assert!(!policy.explain("/ws/keep".as_ref(), &tree).unwrap().write.allowed);
    assert!(!policy.explain("/etc".as_ref(), &tree).unwrap().write.allowed);
    assert_eq!(policy.plan(&request(), &tree).unwrap().limits.max_memory, Some(1000));
}

#[test]
fn the_default_deny_list_can_be_opened_below_but_not_removed() {
    let tree =
        usual_tree().files(&["/home/me/.ssh/id", "/home/me/.ssh/other", "/home/me/.netrc", "/ws/.env"]);
    let allow = |layer, entry: &str| {
        load(&tree, layer, Shape::Native, &format!(r#"{{"filesystem": {{"allowRead": ["{entry}"]}}}}"#))
            .unwrap()
    };
    let reads = |policy: &Policy, path: &str| policy.explain(path.as_ref(), &tree).unwrap().read.allowed;
    assert!(reads(&allow(Layer::User, "~/.ssh/id"), "/home/me/.ssh/id"));
    assert!(!reads(&allow(Layer::User, "~/.ssh/id"), "/home/me/.ssh/other"));
    assert!(!reads(&allow(Layer::Project, "~/.ssh/id"), "/home/me/.ssh/id"));
    assert!(reads(&allow(Layer::User, "~/.netrc"), "/home/me/.netrc"));
    assert!(reads(&allow(Layer::User, "./.env"), "/ws/.env"));
    assert!(!reads(&allow(Layer::User, "**/.env"), "/ws/.env"));
    let whole = allow(Layer::User, "~/.ssh");
    assert!(!reads(&whole, "/home/me/.ssh/id"));
    let plan = whole.plan(&request(), &tree).unwrap();
    assert!(plan.notices.iter().any(|notice| notice.text.contains("cannot be removed")));
}

#[test]
fn secrets_that_lie_elsewhere_are_secrets_there() {
    let tree = usual_tree()
        .files(&["/home/me/dot/key", "/home/me/dot/ssh_config", "/home/me/dot/creds", "/home/me/dot/all/x"])
        .directory("/home/me/.ssh")
        .link("/home/me/.ssh/id_rsa", "../dot/key")
        .link("/home/me/.ssh/config", "../dot/ssh_config")
        .link("/home/me/.ssh/workspace", "/ws")
        .link("/home/me/.ssh/home", "..")
        .link("/home/me/.ssh/sh", "/usr/bin")
        .link("/home/me/.ssh/more", "../dot/all")
        .link("/home/me/.ssh/lost", "nowhere")
        .link("/home/me/.aws/credentials", "../dot/creds");
    let policy = Policy::load(inputs(), &tree).unwrap();
    let reads = |policy: &Policy, path: &str| policy.explain(path.as_ref(), &tree).unwrap().read.allowed;
    for (path, allowed) in [
        ("/home/me/dot/key", false),
        ("/home/me/.ssh/id_rsa", false),
        ("/home/me/dot/creds", false),
        ("/home/me/dot/ssh_config", true),
        ("/home/me/dot/all/x", false),
        ("/home/me/dot", true),
        ("/home/me", true),
        ("/usr/bin", true),
        ("/ws", true),
    ] {
        assert_eq!(reads(&policy, path), allowed, "{path}");
    }
    let open = r#"{"filesystem": {"allowRead": ["~/dot/key"]}}"#;
    assert!(reads(&load(&tree, Layer::User, Shape::Native, open).unwrap(), "/home/me/dot/key"));
}

#[test]
fn who_may_switch_walls_off() {
    let off = r#"{"enabled": false}"#;
    assert_eq!(native(Layer::User, off).decide(&request(), &usual_tree()).verdict, Verdict::Unsandboxed);
    assert_eq!(native(Layer::Flag, off).decide(&request(), &usual_tree()).verdict, Verdict::Unsandboxed);
    assert_eq!(native(Layer::Managed, off).decide(&request(), &usual_tree()).verdict, Verdict::Sandbox);
    let unrestricted = native(Layer::User, r#"{"preset": "unrestricted", "enabled": true}"#);
    let decision = unrestricted.decide(&request(), &usual_tree());
    assert_eq!(decision.verdict, Verdict::Unsandboxed);
    assert_eq!(decision.rule.unwrap().origin.source, "/settings.json");
    assert_eq!(unrestricted.plan(&request(), &usual_tree()).unwrap().network, NetworkPlan::Host);
}

#[test]
fn wishes_for_no_walls() {
    let bare = Request { bare: BareWish::Bare, ..request() };
    assert_eq!(native(Layer::User, "{}").decide(&bare, &usual_tree()).verdict, Verdict::Refuse);
    assert_eq!(
        native(Layer::User, r#"{"allowUnsandboxedCommands": true}"#).decide(&bare, &usual_tree()).verdict,
        Verdict::Unsandboxed
    );
    for command in
        [CommandLine::Argv(vec![]), CommandLine::Argv(vec!["".into()]), CommandLine::Shell("  ".into())]
    {
        assert_eq!(
            native(Layer::User, "{}").decide(&Request { command, ..request() }, &usual_tree()).verdict,
            Verdict::Refuse
        );
    }
}

#[test]
fn every_preset_makes_a_plan_or_says_why_not() {
    for preset in presets() {
        let policy =
            Policy::load(Inputs { preset: Some(preset.name.into()), ..inputs() }, &usual_tree()).unwrap();
        assert_eq!(policy.preset(), preset.name);
        match policy.plan(&request(), &usual_tree()) {
            Ok(_) => assert_ne!(preset.name, "docker"),
            Err(error) => assert!(error.to_string().contains("no sandbox provider \"docker\""), "{error}"),
        }
    }
}

#[test]
fn limits_of_presets_are_wished_and_those_asked_for_required() {
    let plan = |inputs| Policy::load(inputs, &usual_tree()).unwrap().plan(&request(), &usual_tree()).unwrap();
    let preset = plan(Inputs { preset: Some("testing".into()), ..inputs() });
    assert_eq!(need(&preset, WallLayer::Cgroup), Some(Need::Wished));
    let limits = Limits { max_memory: Some(1 << 20), ..Limits::default() };
    let asked = plan(Inputs { flags: Flags { limits, ..Flags::default() }, ..inputs() });
    assert_eq!(need(&asked, WallLayer::Cgroup), Some(Need::Required));
    assert_eq!(need(&plan(inputs()), WallLayer::Cgroup), None);
}

#[test]
fn domains_need_the_gateway() {
    let policy = native(Layer::User, r#"{"network": {"allowedDomains": ["a.example"]}}"#);
    let plan = policy.plan(&request(), &usual_tree()).unwrap();
    assert_eq!(need(&plan, WallLayer::Gateway), Some(Need::Required));
    assert!(matches!(plan.network, NetworkPlan::Gateway(_)));
    assert_eq!(policy.network().allowed[0].rule.origin.key, "network.allowedDomains[0]");
}

#[test]
fn dangerous_working_directories_never_become_writable() {
    let tree = usual_tree().files(&["/home/me/x", "/etc/x", "/usr/src/app/x"]);
    for (cwd, writable) in [
        ("/", false),
        ("/home", false),
        ("/home/me", false),
        ("/etc", false),
        ("/usr/bin", false),
        ("/tmp", false),
        ("/usr/src/app", true),
    ] {
        let policy = Policy::load(Inputs { cwd: cwd.into(), ..inputs() }, &tree).unwrap();
        let told = policy.explain(cwd.as_ref(), &tree).unwrap();
        let private = cwd == "/tmp";
        assert_eq!(told.write.allowed, writable || private, "{cwd}: {told:?}");
        assert_eq!(
            warnings(&policy).iter().any(|text| text.contains("is not made writable")),
            !writable,
            "{cwd}"
        );
    }
}

#[test]
fn working_inside_a_secret_does_not_open_it() {
    let tree = usual_tree().files(&["/home/me/.aws/tools/x"]);
    let policy = Policy::load(Inputs { cwd: "/home/me/.aws/tools".into(), ..inputs() }, &tree).unwrap();
    assert!(!policy.explain("x".as_ref(), &tree).unwrap().read.allowed);
}
