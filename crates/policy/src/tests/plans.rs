use crate::testing::{inputs, load, request, usual_tree};
use crate::{Flags, Inputs, Layer, MaskLook, Mount, MountKind, Plan, Policy, Rights, RootView, Shape};
use std::path::Path;

/// A plan in one line for each mount.
fn lines(plan: &Plan) -> Vec<String> {
    plan.mounts.iter().map(line).collect()
}

fn line(mount: &Mount) -> String {
    let what = match &mount.kind {
        MountKind::Bind { rights, .. } => format!("bind {}", letters(*rights)),
        MountKind::Overlay { rights, .. } => format!("overlay {}", letters(*rights)),
        MountKind::Mask { look, .. } => match look {
            MaskLook::Unreadable => "mask".to_owned(),
            MaskLook::Empty => "empty".to_owned(),
            MaskLook::Holes => "holes".to_owned(),
        },
        MountKind::Tmpfs { mode, .. } => format!("tmpfs {mode:o}"),
        MountKind::Dev => "dev".to_owned(),
        MountKind::Proc => "proc".to_owned(),
        MountKind::Content { mode, .. } => format!("content {mode:o}"),
        MountKind::Channel { .. } => "channel".to_owned(),
        MountKind::Symlink { target } => format!("link {}", target.display()),
    };
    format!("{} {what}", mount.path.display())
}

fn letters(rights: Rights) -> String {
    [(rights.read, 'r'), (rights.write, 'w'), (rights.execute, 'x')]
        .into_iter()
        .filter_map(|(has, letter)| has.then_some(letter))
        .collect()
}

#[test]
fn the_default_preset() {
    let tree = usual_tree().files(&[
        "/home/me/.ssh/id_ed25519",
        "/home/me/.ssh/id_ed25519.pub",
        "/home/me/.ssh/known_hosts",
        "/home/me/.aws/credentials",
        "/home/me/.config/stockade/settings.json",
        "/home/me/.bashrc",
        "/etc/shadow",
        "/etc/ssh/ssh_host_rsa_key",
        "/etc/ssh/ssh_host_rsa_key.pub",
        "/ws/src/main.rs",
        "/ws/.env",
        "/ws/deep/down/.env.local",
        "/ws/.git/HEAD",
        "/ws/.git/config",
        "/ws/.git/hooks/pre-commit",
        "/ws/.git/modules/sub/config",
        "/ws/.vscode/tasks.json",
        "/ws/lib/.vscode/tasks.json",
    ]);
    let policy = Policy::load(inputs(), &tree).unwrap();
    let plan = policy.plan(&request(), &tree).unwrap();
    assert_eq!(plan.root, RootView::Host { rights: Rights::READ_ONLY });
    assert_eq!(plan.workspace, Path::new("/ws"));
    assert_eq!(
        lines(&plan),
        [
            "/dev dev",
            "/etc/shadow mask",
            "/etc/ssh/ssh_host_rsa_key mask",
            "/home/me/.aws mask",
            "/home/me/.config/stockade mask",
            "/home/me/.ssh holes",
            "/home/me/.ssh/id_ed25519.pub bind rx",
            "/home/me/.ssh/known_hosts bind rx",
            "/proc proc",
            "/tmp tmpfs 1777",
            "/ws bind rwx",
            "/ws/.env mask",
            "/ws/.git bind rwx",
            "/ws/.git/hooks bind rx",
            "/ws/.vscode bind rx",
            "/ws/deep bind rwx",
            "/ws/deep/down bind rwx",
            "/ws/deep/down/.env.local mask",
        ]
    );
}

#[test]
fn flags_add_and_take_away() {
    let tree = usual_tree().files(&["/ws/a/b", "/ws/keep/x", "/data/in/x", "/home/me/.ssh/id", "/out/x"]);
    let flags = Flags {
        allow_write: vec!["/out".into()],
        allow_read: vec!["~/.ssh/id".into()],
        deny_read: vec!["/data".into()],
        deny_write: vec!["./keep".into(), "nothing-yet/x".into()],
        ..Flags::default()
    };
    let policy = Policy::load(Inputs { flags, ..inputs() }, &tree).unwrap();
    let plan = policy.plan(&request(), &tree).unwrap();
    assert_eq!(
        lines(&plan),
        [
            "/data mask",
            "/dev dev",
            "/home/me/.ssh holes",
            "/home/me/.ssh/id bind rx",
            "/out bind rwx",
            "/proc proc",
            "/tmp tmpfs 1777",
            "/ws bind rwx",
            "/ws/keep bind rx",
        ]
    );
    // What is not there is held by the broker.
    assert!(plan.notices.is_empty(), "{:?}", plan.notices);
    let held = |rule: &&crate::GuardRule| rule.rule.text == "denyWrite nothing-yet/x";
    let path = crate::GuardPlace::Path { path: "/ws/nothing-yet/x".into() };
    assert_eq!(plan.broker.unwrap().rules.iter().find(held).unwrap().place, path);
}

#[test]
fn srt_settings_stand_alone() {
    let tree = usual_tree().files(&[
        "/home/me/.ssh/id",
        "/ws/secret/x",
        "/ws/secret/open/y",
        "/ws/deep/.bashrc",
        "/tmp/other",
    ]);
    let text = r#"{
        "network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": ["./secret"], "allowRead": ["./secret/open"], "allowWrite": [".", "missing"], "denyWrite": []}
    }"#;
    let policy = load(&tree, Layer::User, Shape::Srt, text).unwrap();
    let plan = policy.plan(&request(), &tree).unwrap();
    assert_eq!(
        lines(&plan),
        [
            "/dev dev",
            "/dev/shm/tmp tmpfs 700",
            "/proc proc",
            "/ws bind rwx",
            "/ws/deep bind rwx",
            "/ws/deep/.bashrc bind rx",
            "/ws/secret holes",
            "/ws/secret/open bind rwx",
        ]
    );
}
