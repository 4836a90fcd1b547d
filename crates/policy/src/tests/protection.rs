//! Mandatory protection, links, and what a search may cost.

use crate::survey::{Bounds, PlanError, survey};
use crate::testing::{Tree, inputs, load, request, usual_tree};
use crate::{
    Explanation, FileKind, Files, Flags, HeldReads, Identity, Inputs, Layer, MaskLook, MountKind, OwnPaths,
    Policy, Shape,
};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn default_with(flags: Flags, tree: &Tree) -> Policy {
    Policy::load(Inputs { flags, ..inputs() }, tree).unwrap()
}

fn explain(policy: &Policy, path: &str, tree: &Tree) -> Explanation {
    policy.explain(path.as_ref(), tree).unwrap()
}

fn writes(policy: &Policy, path: &str, tree: &Tree) -> bool {
    explain(policy, path, tree).write.allowed
}

#[test]
fn git_at_any_depth() {
    let tree = usual_tree()
        .files(&[
            "/ws/a/b/.git/HEAD",
            "/ws/a/b/.git/hooks/x",
            "/ws/a/b/.git/config.worktree",
            "/ws/a/b/.git/index",
            "/ws/a/b/.git/info/attributes",
            "/ws/a/b/.git/objects/aa/config",
            "/ws/a/b/.git/worktrees/w/gitdir",
            "/ws/a/b/.git/worktrees/w/index",
            "/ws/a/b/.git/modules/deep/er/hooks/x",
            "/ws/bare/HEAD",
            "/ws/bare/config",
            "/ws/bare/objects/x",
            "/ws/bare/refs/x",
            "/ws/apart/config",
        ])
        .text("/ws/sub/.git", "gitdir: ../apart\n");
    let policy = default_with(Flags::default(), &tree);
    for kept in [
        "/ws/a/b/.git/hooks/x",
        "/ws/a/b/.git/hooks/new",
        "/ws/a/b/.git/info/attributes",
        "/ws/a/b/.git/worktrees/w/gitdir",
        "/ws/a/b/.git/modules/deep/er/hooks/x",
        "/ws/sub/.git",
        "/ws/apart/commondir",
    ] {
        assert!(!writes(&policy, kept, &tree), "{kept}");
    }
    for checked in
        ["/ws/a/b/.git/config", "/ws/a/b/.git/config.worktree", "/ws/bare/config", "/ws/apart/config"]
    {
        let told = explain(&policy, checked, &tree).write;
        assert!(told.allowed && told.reason.contains("content is checked"), "{checked}: {told:?}");
    }
    for free in [
        "/ws/a/b/.git/index",
        "/ws/a/b/.git/objects/aa/config",
        "/ws/a/b/.git/worktrees/w/index",
        "/ws/config",
    ] {
        assert!(writes(&policy, free, &tree), "{free}");
    }
}

#[test]
fn names_at_the_roots_of_workspaces_and_repositories() {
    let tree =
        usual_tree().files(&["/ws/repo/.git/HEAD", "/ws/plain/x", "/home/me/.bashrc", "/home/me/proj/x"]);
    let flags = Flags { allow_write: vec!["~".into()], ..Flags::default() };
    let policy = default_with(flags, &tree);
    for kept in [
        "/ws/.vscode/tasks.json",
        "/ws/repo/.mcp.json",
        "/ws/.envrc",
        "/home/me/.bashrc",
        "/ws/.claude/settings.json",
    ] {
        assert!(!writes(&policy, kept, &tree), "{kept}");
    }
    for free in
        ["/ws/plain/.vscode/tasks.json", "/ws/.claude/notes", "/home/me/proj/.bashrc", "/ws/src/.envrc.txt"]
    {
        assert!(writes(&policy, free, &tree), "{free}");
    }
}

#[test]
fn protected_names_cannot_be_listed_as_roots() {
    let tree = usual_tree().files(&[
        "/home/me/.bashrc",
        "/home/me/.claude/settings.json",
        "/ws/.git/hooks/x",
        "/ws/.vscode/x",
    ]);
    let allow_write = ["~/.bashrc", "~/.claude", ".git/hooks", ".vscode"].map(String::from).to_vec();
    let inputs = Inputs {
        preset: Some("strict".into()),
        flags: Flags { allow_write, ..Flags::default() },
        ..inputs()
    };
    let policy = Policy::load(inputs, &tree).unwrap();
    for kept in ["/home/me/.bashrc", "/ws/.git/hooks/x", "/ws/.vscode/x"] {
        assert!(!writes(&policy, kept, &tree), "{kept}");
    }
    let open = Flags {
        allow_read: vec!["~/.claude/settings.json".into()],
        allow_write: vec!["~/.claude".into()],
        ..Flags::default()
    };
    assert!(!writes(&default_with(open, &tree), "/home/me/.claude/settings.json", &tree));
}

#[test]
fn groups_can_be_switched_off_one_by_one() {
    let tree = usual_tree().files(&["/ws/.git/config", "/ws/.vscode/x"]);
    let policy =
        load(&tree, Layer::User, Shape::Native, r#"{"filesystem": {"protection": {"ide": "off"}}}"#).unwrap();
    assert!(writes(&policy, "/ws/.vscode/x", &tree));
    assert!(!writes(&policy, "/ws/.git/hooks/x", &tree));
}

const SRT: &str = r#"{"network": {"allowedDomains": [], "deniedDomains": []},
    "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": [], "EXTRA": true}}"#;

#[test]
fn srt_protects_its_names_everywhere() {
    let tree = usual_tree().files(&["/ws/a/.git/config", "/ws/a/.git/hooks/x", "/ws/node_modules/p/.idea/x"]);
    let policy = load(&tree, Layer::User, Shape::Srt, SRT).unwrap();
    for kept in [
        "/ws/deep/er/.bashrc",
        "/ws/a/.git/config",
        "/ws/x/.claude/commands/y",
        "/ws/x/.vscode",
        "/ws/node_modules/p/.gitconfig",
    ] {
        assert!(!writes(&policy, kept, &tree), "{kept}");
    }
    for free in ["/ws/x/.zshenv", "/ws/node_modules/p/.idea/x", "/ws/.claude/settings.json"] {
        assert!(writes(&policy, free, &tree), "{free}");
    }
    let lifted = load(&tree, Layer::User, Shape::Srt, &SRT.replace("EXTRA", "allowGitConfig")).unwrap();
    assert!(writes(&lifted, "/ws/a/.git/config", &tree));
    assert!(!writes(&lifted, "/ws/a/.git/hooks/x", &tree));
    let disabled = load(&tree, Layer::User, Shape::Srt, &SRT.replace("EXTRA", "disabled")).unwrap();
    assert!(writes(&disabled, "/ws/a/.git/hooks/x", &tree) && writes(&disabled, "/etc/x", &tree));
}

#[test]
fn own_files_are_always_hidden_and_the_tool_cache_is_not() {
    let tree = usual_tree().files(&[
        "/home/me/.cache/stockade/tools/ws/x",
        "/home/me/.cache/stockade/other/x",
        "/home/me/.config/stockade/s",
    ]);
    let mut inputs = inputs();
    inputs.own.tool_cache = Some("/home/me/.cache/stockade/tools/ws".into());
    inputs.flags.allow_read = vec!["~/.config/stockade/s".into(), "~/.cache/stockade/other".into()];
    inputs.flags.allow_write = vec!["~/.config/stockade".into()];
    let policy = Policy::load(inputs, &tree).unwrap();
    for hidden in ["/home/me/.config/stockade/s", "/home/me/.cache/stockade/other/x"] {
        let told = explain(&policy, hidden, &tree);
        assert!(!told.read.allowed && !told.write.allowed, "{hidden}");
        assert!(told.read.change.unwrap().starts_with("cannot be opened"));
    }
    assert!(writes(&policy, "/home/me/.cache/stockade/tools/ws/x", &tree));
    // A preset whose caches end with the run does not open it.
    let mut strict = self::inputs();
    strict.own.tool_cache = Some("/home/me/.cache/stockade/tools/ws".into());
    strict.preset = Some("strict".into());
    let strict = Policy::load(strict, &tree).unwrap();
    assert!(!explain(&strict, "/home/me/.cache/stockade/tools/ws/x", &tree).read.allowed);
}

#[test]
fn a_rule_protects_the_file_and_not_its_spelling() {
    let tree = usual_tree()
        .files(&["/data/secret/x", "/data/keep/x", "/ws/real/key.pem"])
        .link("/ws/link", "/data/secret")
        .link("/ws/keep", "/data/keep")
        .link("/ws/other.pem", "real/target")
        .file("/ws/real/target");
    let flags = Flags {
        deny_read: vec!["./link".into(), "*.pem".into()],
        allow_write: vec!["/data".into()],
        deny_write: vec!["./keep".into()],
        ..Flags::default()
    };
    let policy = default_with(flags, &tree);
    for (path, resolved) in [
        ("/ws/link/x", "/data/secret/x"),
        ("/data/secret/x", "/data/secret/x"),
        ("/ws/real/target", "/ws/real/target"),
    ] {
        let told = explain(&policy, path, &tree);
        assert_eq!(told.resolved, Path::new(resolved));
        assert!(!told.read.allowed, "{path}");
    }
    assert!(!writes(&policy, "/data/keep/x", &tree));
    let plan = policy.plan(&request(), &tree).unwrap();
    let kept = plan.mounts.iter().find(|mount| mount.path == Path::new("/ws/keep")).unwrap();
    assert!(matches!(kept.kind, MountKind::Bind { identity, .. } if identity.kind == FileKind::Symlink));
}

#[test]
fn what_allows_something_does_not_follow_links_a_command_could_have_planted() {
    let tree = usual_tree()
        .files(&["/data/out/x", "/home/me/.ssh/id_rsa"])
        .link("/ws/build", "/data/out")
        .link("/ws/data", "/home/me/.ssh/id_rsa");
    let flags =
        Flags { allow_read: vec!["data".into()], allow_write: vec!["build".into()], ..Flags::default() };
    let policy = default_with(flags, &tree);
    assert!(!writes(&policy, "/data/out/x", &tree));
    assert!(!explain(&policy, "/home/me/.ssh/id_rsa", &tree).read.allowed);
    let plan = policy.plan(&request(), &tree).unwrap();
    assert_eq!(plan.notices.iter().filter(|notice| notice.text.contains("planted")).count(), 2);
}

#[test]
fn links_in_workspaces_of_earlier_commands_open_nothing() {
    let tree = usual_tree()
        .files(&["/data/out/x", "/home/me/.ssh/id_rsa", "/elsewhere/sub/y"])
        .link("/elsewhere/build", "/data/out")
        .link("/elsewhere/data", "/home/me/.ssh/id_rsa")
        .link("/elsewhere/way", "sub")
        .link("/srv", "/elsewhere/build");
    let with = |cwd: &str, worked_in: &[&str], write: &str| {
        let own = OwnPaths { worked_in: worked_in.iter().map(PathBuf::from).collect(), ..inputs().own };
        let (allow_read, allow_write) = (vec!["/elsewhere/data".into()], vec![write.into()]);
        let flags = Flags { allow_read, allow_write, ..Flags::default() };
        Policy::load(Inputs { cwd: cwd.into(), own, flags, ..inputs() }, &tree).unwrap()
    };
    // Whoever made that link, no command did.
    assert!(writes(&with("/ws", &["/ws", "/else"], "/elsewhere/build"), "/data/out/x", &tree));
    for write in ["/elsewhere/build", "/elsewhere/sub/../build", "/elsewhere/way/../build", "/srv"] {
        for cwd in ["/ws", "/elsewhere/sub"] {
            let policy = with(cwd, &["/elsewhere"], write);
            assert!(!writes(&policy, "/data/out/x", &tree), "{write} from {cwd}");
            assert!(!explain(&policy, "/home/me/.ssh/id_rsa", &tree).read.allowed);
            let plan = policy.plan(&request(), &tree).unwrap();
            assert_eq!(plan.notices.iter().filter(|notice| notice.text.contains("planted")).count(), 2);
        }
    }
    // The workspace is a link that stays there: everything is as if it were named itself.
    let policy = with("/elsewhere/way", &["/elsewhere"], "y");
    assert!(writes(&policy, "/elsewhere/sub/y", &tree) && writes(&policy, "/elsewhere/sub/new", &tree));
}

#[test]
fn a_working_directory_does_not_lead_out_of_where_commands_worked() {
    let tree = usual_tree()
        .files(&["/data/out/x", "/elsewhere/sub/y"])
        .link("/elsewhere/away", "/data/out")
        .link("/elsewhere/way", "sub")
        .link("/srv", "/elsewhere/away")
        .link("/moved", "/elsewhere");
    let out_of = |cwd: &str, worked_in: &str| {
        let own = OwnPaths { worked_in: vec![worked_in.into()], ..inputs().own };
        let policy = Policy::load(Inputs { cwd: cwd.into(), own, ..inputs() }, &tree).unwrap();
        policy.led_out_of(&tree)
    };
    let known = Some(PathBuf::from("/elsewhere"));
    assert_eq!(out_of("/elsewhere/away", "/elsewhere"), known);
    assert_eq!(out_of("/elsewhere/way/../away", "/elsewhere"), known);
    assert_eq!(out_of("/elsewhere/away/..", "/elsewhere"), known);
    assert_eq!(out_of("/srv", "/elsewhere"), known);
    for free in ["/elsewhere", "/elsewhere/sub", "/elsewhere/way", "/ws", "/data/out"] {
        assert_eq!(out_of(free, "/elsewhere"), None, "{free}");
    }
    // A workspace that was put elsewhere is still the same one.
    assert_eq!(out_of("/moved/sub", "/moved"), None);
    assert_eq!(out_of("/elsewhere/away", "/ws"), None);
}

#[test]
fn what_cannot_be_resolved_is_not_guessed() {
    let tree = usual_tree().link("/ws/dangling", "/nowhere/x");
    let policy = default_with(Flags { allow_write: vec!["./../../x".into()], ..Flags::default() }, &tree);
    assert!(policy.explain("/ws/dangling".as_ref(), &tree).is_err());
    assert!(policy.explain("/ws/none/../../etc/x".as_ref(), &tree).is_err());
    assert!(!writes(&policy, "/x", &tree));
}

#[test]
fn directories_that_cannot_be_looked_into_are_hidden() {
    let tree = usual_tree().broken("/ws/closed", io::ErrorKind::PermissionDenied);
    let policy = default_with(Flags::default(), &tree);
    assert!(!explain(&policy, "/ws/closed", &tree).read.allowed);
    let plan = policy.plan(&request(), &tree).unwrap();
    assert!(plan.notices.iter().any(|notice| notice.text.contains("/ws/closed cannot be looked into")));
}

#[test]
fn a_workspace_that_cannot_be_looked_into_is_an_error() {
    let tree = usual_tree().broken("/ws", io::ErrorKind::PermissionDenied);
    let policy = default_with(Flags::default(), &tree);
    assert!(policy.plan(&request(), &tree).unwrap_err().to_string().contains("cannot work in /ws"));
}

#[test]
fn a_planted_link_is_not_srts_temporary_directory() {
    let tree = usual_tree().link("/tmp/claude", "/home/me");
    let policy = load(&tree, Layer::User, Shape::Srt, &SRT.replace("EXTRA", "x")).unwrap();
    assert!(!writes(&policy, "/home/me/x", &tree));
}

#[test]
fn explanations_say_what_would_help() {
    let tree = usual_tree().files(&["/home/me/.ssh/id", "/ws/x", "/ws/.git/hooks/x", "/tmp/host"]);
    let policy = default_with(Flags { deny_read: vec!["/ws/x".into()], ..Flags::default() }, &tree);
    let change = |answer: crate::Answer| answer.change.unwrap();
    assert_eq!(change(explain(&policy, "/etc", &tree).write), "--allow-write /etc");
    assert_eq!(change(explain(&policy, "/home/me/.ssh/id", &tree).read), "--allow-read /home/me/.ssh/id");
    assert!(
        change(explain(&policy, "/home/me/.ssh", &tree).read).contains("--allow-read /home/me/.ssh/NAME")
    );
    assert!(change(explain(&policy, "/ws/x", &tree).read).starts_with("--allow-read /ws/x, or remove"));
    assert!(change(explain(&policy, "/ws/.git/hooks/x", &tree).write).contains("mandatory protection"));
    assert!(change(explain(&policy, "/tmp/host", &tree).read).contains("--allow-read /tmp/host"));
    assert!(explain(&policy, "/tmp/new", &tree).write.allowed);
    let absent = explain(&policy, "sub/.env", &tree);
    assert!(!absent.read.allowed && absent.read.reason.contains("does not exist yet"));
    assert_eq!(absent.resolved, Path::new("/ws/sub/.env"));
}

#[test]
fn the_workspace_may_lie_in_tmp() {
    let tree = usual_tree().files(&["/tmp/work/x", "/tmp/other"]);
    let policy = Policy::load(Inputs { cwd: "/tmp/work".into(), ..inputs() }, &tree).unwrap();
    let plan = policy.plan(&crate::Request { cwd: "/tmp/work".into(), ..request() }, &tree).unwrap();
    let paths: Vec<_> = plan.mounts.iter().map(|mount| mount.path.to_str().unwrap()).collect();
    assert_eq!(paths, ["/dev", "/proc", "/tmp", "/tmp/work"]);
    assert!(!explain(&policy, "/tmp/other", &tree).read.allowed);
}

#[test]
fn limited_reading_shows_the_system() {
    let tree = usual_tree()
        .files(&["/usr/bin/sh", "/etc/hosts", "/home/me/.cargo/bin/cargo", "/home/me/x", "/srv/x"])
        .link("/bin", "usr/bin");
    let policy = Policy::load(Inputs { preset: Some("strict".into()), ..inputs() }, &tree).unwrap();
    let plan = policy.plan(&request(), &tree).unwrap();
    assert_eq!(plan.root, crate::RootView::Listed);
    let link = plan.mounts.iter().find(|mount| mount.path == Path::new("/bin")).unwrap();
    assert_eq!(link.kind, crate::MountKind::Symlink { target: "/usr/bin".into() });
    for (path, reads) in [
        ("/usr/bin/sh", true),
        ("/etc/hosts", true),
        ("/ws", true),
        ("/home/me/.cargo/bin/cargo", true),
        ("/home/me/x", false),
        ("/srv/x", false),
    ] {
        assert_eq!(explain(&policy, path, &tree).read.allowed, reads, "{path}");
    }
    assert!(!writes(&policy, "/ws/new", &tree));
}

#[test]
fn too_many_matches_are_an_error_that_names_the_rule() {
    let mut tree = usual_tree();
    for number in 0..30 {
        tree = tree.file(&format!("/ws/d{number}/x.key"));
    }
    let policy = default_with(Flags { deny_read: vec!["**/*.key".into()], ..Flags::default() }, &tree);
    let bounds = Bounds { matches: 20, ..Bounds::USUAL };
    let error = survey(&policy, &tree, bounds).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, PlanError::TooManyMatches { count: 20, .. }));
    assert!(
        message.contains("denyRead **/*.key (--deny-read)")
            && message.contains("/ws")
            && message.contains("hint"),
        "{message}"
    );
}

/// A tree without end.
struct Endless;

impl Files for Endless {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        let known = path.starts_with("/ws") || path == Path::new("/");
        if known {
            Ok(Identity { dev: 1, ino: 1, kind: FileKind::Directory })
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.look(path).map(|_| path.to_owned())
    }

    fn follow(&self, _: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::InvalidInput.into())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        Ok(vec![("a".into(), FileKind::Directory), ("b".into(), FileKind::Directory)])
    }
}

#[test]
fn a_tree_that_is_too_big_is_an_error_and_not_a_wait() {
    let policy = Policy::load(Inputs { home: None, ..inputs() }, &Endless).unwrap();
    let bounds = Bounds { time: Duration::from_millis(20), ..Bounds::USUAL };
    let error = survey(&policy, &Endless, bounds).unwrap_err();
    assert!(matches!(error, PlanError::TooBig { .. }), "{error}");
}

#[test]
fn what_git_remembers_looks_empty_and_what_a_person_hides_does_not() {
    let tree = usual_tree()
        .files(&["/ws/.git/HEAD", "/ws/.git/hooks/a", "/ws/.git/rr-cache/1/postimage"])
        .directory("/ws/.git/modules/m/rr-cache");
    let policy = default_with(Flags { deny_read: vec!["/ws/.git/hooks".into()], ..Flags::default() }, &tree);
    let plan = policy.plan(&request(), &tree).unwrap();
    let look = |path: &str| {
        let mount = plan.mounts.iter().find(|mount| mount.path == std::path::Path::new(path)).unwrap();
        match mount.kind {
            MountKind::Mask { look, .. } => look,
            ref kind => panic!("{kind:?}"),
        }
    };
    assert_eq!(look("/ws/.git/rr-cache"), MaskLook::Empty);
    assert_eq!(look("/ws/.git/modules/m/rr-cache"), MaskLook::Empty);
    assert_eq!(look("/ws/.git/hooks"), MaskLook::Unreadable);
    // Nothing there is saved anew under its name, so that reads need not wait.
    let plan = default_with(Flags::default(), &tree).plan(&request(), &tree).unwrap();
    assert_eq!(plan.broker.unwrap().reads, HeldReads::None);
}
