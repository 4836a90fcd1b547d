//! What the gateway changes in the file system: resolvers, ssh's configuration.

use crate::testing::{Tree, inputs, request, usual_tree};
use crate::{Flags, Inputs, MaskLook, MountKind, Policy};

fn resolver_tree() -> Tree {
    usual_tree()
        .directory("/run/nscd")
        .link("/var/run", "../run")
        .files(&[
            "/run/systemd/resolve/io.systemd.Resolve",
            "/run/systemd/resolve/io.systemd.Resolve.Monitor",
        ])
        .text("/run/systemd/resolve/stub-resolv.conf", "nameserver 127.0.0.53\nsearch x\n")
        .link("/etc/resolv.conf", "../run/systemd/resolve/stub-resolv.conf")
}

fn laid(tree: &Tree) -> Vec<(String, MountKind)> {
    let flags = Flags { allow_domains: vec!["a.test".into()], ..Flags::default() };
    let plan = Policy::load(Inputs { flags, ..inputs() }, tree).unwrap().plan(&request(), tree).unwrap();
    plan.mounts.into_iter().map(|mount| (mount.path.display().to_string(), mount.kind)).collect()
}

#[test]
fn nothing_else_answers_names() {
    let mounts = laid(&resolver_tree());
    for path in [
        "/run/nscd",
        "/run/systemd/resolve/io.systemd.Resolve",
        "/run/systemd/resolve/io.systemd.Resolve.Monitor",
    ] {
        let masks: Vec<_> = mounts.iter().filter(|(known, _)| known == path).collect();
        assert!(
            matches!(masks[..], [(_, MountKind::Mask { look: MaskLook::Unreadable, .. })]),
            "{path}: {masks:?}"
        );
    }
    assert!(!mounts.iter().any(|(path, _)| path.ends_with("resolv.conf") || path == "/run/systemd/resolve"));
    let closed =
        Policy::load(inputs(), &resolver_tree()).unwrap().plan(&request(), &resolver_tree()).unwrap();
    assert!(!closed.mounts.iter().any(|mount| mount.path.starts_with("/run")));
}

#[test]
fn an_unusable_resolver_configuration_is_replaced() {
    for (text, replaced) in [
        ("nameserver 192.0.2.53\n", false),
        ("# nothing\n", true),
        ("nameserver fe80::1%eth0\n", true),
        ("", true),
        ("search a\nnameserver ::1\nnameserver 10.0.0.1\n", false),
    ] {
        let tree = usual_tree().text("/etc/resolv.conf", text);
        let kind = laid(&tree).into_iter().find(|(path, _)| path == "/etc/resolv.conf").map(|(_, kind)| kind);
        let ours = MountKind::Content { data: b"nameserver 127.0.0.1\n".to_vec(), mode: 0o444 };
        assert_eq!(kind, replaced.then_some(ours), "{text:?}");
    }
    for tree in [usual_tree(), usual_tree().link("/etc/resolv.conf", "/nowhere")] {
        assert!(!laid(&tree).iter().any(|(path, _)| path.contains("resolv")));
    }
}

#[test]
fn ordinary_callers_get_copies_of_what_ssh_includes() {
    let tree = usual_tree()
        .text("/etc/ssh/ssh_config", "Host *\n  Include /etc/ssh/ssh_config.d/*.conf\n")
        .text("/etc/ssh/ssh_config.d/10-a.conf", "include=\"more/b\" ~/mine\n")
        .text("/etc/ssh/ssh_config.d/readme", "x")
        .link("/etc/ssh/ssh_config.d/20-c.conf", "/usr/lib/c.conf")
        .text("/usr/lib/c.conf", "Include /etc/ssh/ssh_config\n")
        .text("/etc/ssh/more/b", "B");
    let copies = |tree: &Tree| -> Vec<String> {
        let is_content = |(_, kind): &(String, MountKind)| matches!(kind, MountKind::Content { .. });
        laid(tree).into_iter().filter(is_content).map(|(path, _)| path).collect()
    };
    assert_eq!(
        copies(&tree),
        ["/etc/ssh/more/b", "/etc/ssh/ssh_config", "/etc/ssh/ssh_config.d/10-a.conf", "/usr/lib/c.conf"]
    );
    assert!(copies(&tree.for_root()).is_empty());
}
