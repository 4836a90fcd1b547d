use super::{list, plan_with};
use crate::List;
use crate::testing::{inputs, load, request, usual_tree};
use crate::{
    BrokerPlan, Flags, HeldReads, Inputs, Judge, Layer, Naming, Need, Plan, Policy, Shape, Switch, WallLayer,
};
use std::path::{Path, PathBuf};

fn preset(name: &str, flags: Flags) -> Plan {
    let inputs = Inputs { preset: Some(name.into()), flags, ..inputs() };
    Policy::load(inputs, &usual_tree()).unwrap().plan(&request(), &usual_tree()).unwrap()
}

fn need(plan: &Plan) -> Option<Need> {
    plan.layers.iter().find(|need| need.layer == WallLayer::Broker).map(|need| need.need)
}

#[test]
fn who_needs_a_broker() {
    let asking = || Flags { asking: Switch::Allowed, ..Flags::default() };
    let tracing = || Flags { trace_reads: Switch::Allowed, ..Flags::default() };
    let socket = || Flags { allow_unix: list(&["/srv/x"]), ..Flags::default() };
    for (name, flags, wanted) in [
        ("default", Flags::default(), true),
        ("strict", Flags::default(), false),
        ("unrestricted", Flags::default(), false),
        ("strict", asking(), true),
        ("strict", tracing(), true),
        ("strict", socket(), true),
        ("unrestricted", asking(), true),
        ("strict", Flags { allow_write: list(&["/ws"]), ..Flags::default() }, true),
    ] {
        let plan = preset(name, flags.clone());
        assert_eq!(plan.broker.is_some(), wanted, "{name} {flags:?}");
        assert_eq!(need(&plan), wanted.then_some(Need::Required), "{name} {flags:?}");
    }
    let disabled = r#"{"network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": ["**/x"], "disabled": true}}"#;
    let policy = load(&usual_tree(), Layer::User, Shape::Srt, disabled).unwrap();
    // No file rules: but what the rules of the network are made from stays what it is.
    let broker = policy.plan(&request(), &usual_tree()).unwrap().broker.unwrap();
    let guarded: Vec<_> = broker.rules.iter().filter(|rule| rule.list == List::Protected).collect();
    assert_eq!(guarded.len(), 1);
    assert_eq!(guarded[0].rule.to_string(), "protected /settings.json (built in: settings in use)");
}

#[test]
fn the_rule_that_needs_it_is_the_persons_own() {
    let because = |plan: Plan| {
        let need = plan.layers.into_iter().find(|need| need.layer == WallLayer::Broker).unwrap();
        need.because.unwrap().origin.layer
    };
    assert_eq!(because(plan_with(Flags::default(), &usual_tree())), Layer::BuiltIn);
    let flags = Flags { deny_write: list(&["./later"]), ..Flags::default() };
    assert_eq!(because(plan_with(flags, &usual_tree())), Layer::Flag);
}

#[test]
fn which_reads_are_held() {
    let reads = |flags, tree| plan_with(flags, &tree).broker.unwrap().reads;
    let plain = || Flags::default();
    assert_eq!(reads(plain(), usual_tree()), HeldReads::None);
    // The host may save over a mask in the directory it works in.
    assert_eq!(reads(plain(), usual_tree().file("/ws/sub/.env")), HeldReads::All);
    assert_eq!(reads(plain(), usual_tree().file("/home/me/.ssh/id")), HeldReads::None);
    for flags in [
        Flags { deny_read: list(&["/srv/absent"]), ..plain() },
        Flags { trace_reads: Switch::Allowed, ..plain() },
        Flags { asking: Switch::Allowed, ..plain() },
    ] {
        assert_eq!(reads(flags.clone(), usual_tree()), HeldReads::All, "{flags:?}");
    }
    let flags = Flags { deny_write: list(&["./x"]), ..plain() };
    assert_eq!(reads(flags, usual_tree()), HeldReads::None);
}

#[test]
fn where_rules_hold() {
    let tree = usual_tree().files(&[
        "/ws/repo/.git/config",
        "/ws/tree/x",
        "/ws/bare/HEAD",
        "/ws/bare/objects/x",
        "/ws/bare/refs/x",
        "/ws/bare/config",
        "/out/x",
        "/data/x",
        "/single",
    ]);
    let tree = tree.text("/ws/tree/.git", "gitdir: ../elsewhere\n");
    let flags = Flags {
        allow_write: list(&["/out", "/single"]),
        allow_read: list(&["/data", "/data/x"]),
        ..Flags::default()
    };
    let BrokerPlan { roots, writable, protected_roots, git_directories, listed_files, .. } =
        plan_with(flags, &tree).broker.unwrap();
    let paths = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
    assert_eq!(roots, paths(&["/ws", "/data", "/out"]));
    assert_eq!(writable, paths(&["/out", "/single", "/ws"]));
    assert_eq!(listed_files, paths(&["/single"]));
    assert_eq!(protected_roots, paths(&["/home/me", "/out", "/ws", "/ws/repo", "/ws/tree"]));
    assert_eq!(git_directories, paths(&["/ws/bare"]));
}

#[test]
fn a_home_that_may_not_be_written_is_judged_by_its_own_entries() {
    let tree = usual_tree();
    let policy = Policy::load(Inputs { cwd: "/home/me".into(), ..inputs() }, &tree).unwrap();
    let plan = policy.plan(&crate::Request { cwd: "/home/me".into(), ..request() }, &tree).unwrap();
    assert_eq!(plan.broker, None);
    let flags = Flags { trace_reads: Switch::Allowed, ..Flags::default() };
    let policy = Policy::load(Inputs { cwd: "/home/me".into(), flags, ..inputs() }, &tree).unwrap();
    let plan = policy.plan(&request(), &tree).unwrap();
    assert_eq!(plan.broker.as_ref().unwrap().shallow_roots, [Path::new("/home/me")]);
    let judge = Judge::new(&plan);
    assert_ne!(judge.name("/home/me/.env".as_ref(), Naming::File), crate::Judgement::Free);
    assert_eq!(judge.name("/home/me/x/.env".as_ref(), Naming::File), crate::Judgement::Free);
}

#[test]
fn links_are_settled_as_far_as_there_is_something() {
    let tree = usual_tree().directory("/data").link("/ws/link", "/data").link("/ws/lost", "/ws/nowhere/x");
    let flags = Flags { deny_write: list(&["./link/later", "./lost", "./no/../up"]), ..Flags::default() };
    let judge = Judge::new(&plan_with(flags, &tree));
    for path in ["/data/later", "/ws/lost", "/ws/nowhere/x", "/ws/up"] {
        super::refused(&judge, path, Naming::File);
    }
}

#[test]
fn what_a_pattern_found_through_a_link_is_kept_where_it_is() {
    let tree = usual_tree().file("/ws/conf/prod").link("/ws/.env", "conf/prod");
    let judge = Judge::new(&plan_with(Flags::default(), &tree));
    super::refused(&judge, "/ws/conf/prod", Naming::Moved);
    super::assert_free(&judge, "/ws/conf/test", Naming::Moved);
}

#[test]
fn a_plan_reads_back_as_it_was() {
    let tree = usual_tree().files(&["/ws/.env", "/ws/.git/config", "/srv/x.sock"]);
    let flags = Flags {
        deny_read: list(&["**/*.{key,pem}", "./[!a-c]x?", r"./odd\*name*", "[]-]z*", "*[a,b]{c,}"]),
        allow_unix: list(&["/srv/x.sock"]),
        asking: Switch::Allowed,
        ..Flags::default()
    };
    let plan = plan_with(flags, &tree);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    let judge = Judge::new(&plan);
    for path in ["/ws/a.key", "/ws/dxy", "/ws/odd*name1", "/ws/]z", "/ws/-z1", "/ws/q,c"] {
        super::refused(&judge, path, Naming::File);
    }
    for path in ["/ws/axy", "/ws/oddname", "/ws/z", "/ws/qdc"] {
        super::assert_free(&judge, path, Naming::File);
    }
}
