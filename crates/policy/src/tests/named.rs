//! Files that a policy is made from, and those that it names.

use crate::testing::{Tree, inputs, load, usual_tree};
use crate::{Files, Inputs, Layer, Policy, SettingsErrors, SettingsFile, Shape};

const USER: &str = "/home/me/.config/stockade/settings.json";

fn with(tree: &Tree, file: SettingsFile) -> Result<Policy, SettingsErrors> {
    Policy::load(Inputs { settings: vec![file], ..inputs() }, tree)
}

fn writes(policy: &Policy, path: &str, tree: &dyn Files) -> bool {
    policy.explain(path.as_ref(), tree).unwrap().write.allowed
}

#[test]
fn settings_are_protected_where_they_really_lie() {
    let tree = usual_tree()
        .text("/ws/dot/real.json", "{}")
        .link("/ws/dot/link.json", "real.json")
        .file("/ws/dot/other.json")
        .link(USER, "/ws/dot/link.json")
        .link("/ws/.stockade.json", "dot/link.json")
        .link("/etc/stockade/managed.json", "/ws/dot/link.json");
    for (path, layer) in [
        (USER, Layer::User),
        ("/ws/.stockade.json", Layer::Project),
        ("/ws/dot/link.json", Layer::Flag),
        ("/etc/stockade/managed.json", Layer::Managed),
    ] {
        let policy = with(&tree, SettingsFile::optional(path, layer)).unwrap();
        assert!(!writes(&policy, "/ws/dot/real.json", &tree), "{path}");
        assert!(writes(&policy, "/ws/dot/other.json", &tree), "{path}");
        // The links on the way cannot be replaced, either.
        let plan = policy.plan(&crate::testing::request(), &tree).unwrap();
        let kept = |name: &str| plan.mounts.iter().any(|mount| mount.path == std::path::Path::new(name));
        assert!(kept("/ws/dot/link.json") && kept("/ws/dot/real.json"), "{path}: {:?}", plan.mounts);
    }
}

#[test]
fn a_link_that_leads_nowhere_is_an_error_and_no_empty_policy() {
    let place = |path, target| usual_tree().link(path, target);
    for (tree, path, layer, told) in [
        (place(USER, "/ws/gone.json"), USER, Layer::User, "settings.json points to /ws/gone.json"),
        (place("/ws/.stockade.json", "gone"), "/ws/.stockade.json", Layer::Project, "points to gone"),
        (
            place("/etc/m.json", "/gone"),
            "/etc/m.json",
            Layer::Managed,
            "the link /etc/m.json points to /gone",
        ),
        (place("/home/me/.config/stockade", "/gone"), USER, Layer::User, ".config/stockade points to /gone"),
        (
            place(USER, "/ws/next.json").link("/ws/next.json", "/gone"),
            USER,
            Layer::User,
            "/ws/next.json points to /gone",
        ),
    ] {
        let error = with(&tree, SettingsFile::optional(path, layer)).unwrap_err().to_string();
        assert!(error.contains(&format!("{path} leads nowhere")), "{error}");
        assert!(error.contains(told) && error.contains("remove the link"), "{told}: {error}");
        let named = with(&tree, SettingsFile::named(path, layer)).unwrap_err().to_string();
        assert_eq!(named, error);
    }
    // A directory behind a link, and no file in it.
    let tree = usual_tree().directory("/dot").link("/home/me/.config/stockade", "/dot");
    for path in [USER, "/ws/.stockade.json", "/etc/stockade/managed.json"] {
        with(&tree, SettingsFile::optional(path, Layer::User)).unwrap();
    }
}

#[test]
fn files_that_the_network_trusts_are_protected() {
    let tree = usual_tree().files(&[
        "/ws/ca.pem",
        "/ws/ca.key",
        "/ws/extra/more.pem",
        "/ws/mitm.sock",
        "/ws/secrets/token",
        "/ws/free",
    ]);
    let text = r#"{
        "network": {
            "allowedDomains": ["a.test"],
            "tlsTerminate": {"caCertPath": "ca.pem", "caKeyPath": "ca.key", "extraCaCertPaths": ["extra/more.pem", "later.pem"]},
            "mitmProxy": {"socketPath": "/ws/mitm.sock", "domains": ["a.test"]}
        },
        "credentials": {"files": [{"path": "/ws/secrets/token", "mode": "mask", "injectHosts": ["a.test"]}]}
    }"#;
    let policy = load(&tree, Layer::User, Shape::Native, text).unwrap();
    for kept in [
        "/ws/ca.pem",
        "/ws/ca.key",
        "/ws/extra/more.pem",
        "/ws/later.pem",
        "/ws/mitm.sock",
        "/ws/secrets/token",
    ] {
        assert!(!writes(&policy, kept, &tree), "{kept}");
    }
    assert!(writes(&policy, "/ws/free", &tree));
    // Nor can their directory be moved away.
    let plan = policy.plan(&crate::testing::request(), &tree).unwrap();
    for pinned in ["/ws/extra", "/ws/secrets"] {
        assert!(plan.mounts.iter().any(|mount| mount.path == std::path::Path::new(pinned)), "{pinned}");
    }
}
