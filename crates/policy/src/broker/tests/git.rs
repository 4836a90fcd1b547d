use super::judge_with;
use crate::testing::{Tree, inputs, load, request, usual_tree};
use crate::{Check, Flags, Judge, Judgement, Layer, Naming, Policy, Shape, Switch};
use Naming::{Directory, File, Moved, MovedDirectory, Special, Symlink, SymlinkBeside};

/// What a judgement comes to.
#[derive(Debug, PartialEq)]
enum Short {
    Free,
    No,
    If(Check),
}

fn short(judgement: Judgement) -> Short {
    match judgement {
        Judgement::Free => Short::Free,
        Judgement::Refused(refusal) => {
            assert_eq!(refusal.grantable, Switch::Refused, "{refusal:?}");
            Short::No
        }
        Judgement::Check(check, refusal) => {
            assert_eq!(refusal.grantable, Switch::Refused, "{refusal:?}");
            Short::If(check)
        }
    }
}

fn named(judge: &Judge, path: &str, naming: Naming) -> Short {
    short(judge.name(path.as_ref(), naming))
}

fn tree() -> Tree {
    usual_tree().files(&["/ws/bare/HEAD", "/ws/bare/config", "/ws/bare/objects/x", "/ws/bare/refs/x"])
}

#[test]
fn git_is_protected_in_caches_too() {
    const CACHE: &str = "/home/me/.cache/stockade/tools/1";
    let tree = tree().directory(CACHE);
    let mut inputs = inputs();
    inputs.own.tool_cache = Some(CACHE.into());
    let policy = Policy::load(inputs, &tree).unwrap();
    let judge = Judge::new(&policy.plan(&request(), &tree).unwrap());
    let bare = || Short::If(Check::BareRepository);
    for (path, naming, wanted) in [
        ("x/.git", Directory, Short::Free),
        ("x/.git/hooks/pre-commit", File, Short::No),
        ("x/.git/hooks/pre-commit.sample", File, Short::Free),
        ("x/.git/config", Moved, Short::If(Check::GitConfig)),
        ("x/.git", Symlink, Short::No),
        ("x/HEAD", File, bare()),
        ("x/objects", Directory, bare()),
        ("cargo/git/db/HEAD", File, bare()),
        ("cargo/git/db/a/b/refs", Directory, bare()),
        ("cargo/git/db/a/HEAD", Moved, Short::Free),
        ("cargo/git/db/a/objects", Directory, Short::Free),
        ("cargo/git/db/a/config", Moved, Short::If(Check::GitConfig)),
        ("cargo/git/db/a/hooks/pre-receive", File, Short::No),
        ("cargo/git/db/a/hooks", MovedDirectory, Short::No),
        ("xdg/nix/tarball-cache/hooks/update", File, Short::No),
        // Packages bring what they like.
        ("pip/.env", File, Short::Free),
        ("npm/x/.vscode", Directory, Short::Free),
        ("npm/x/hooks/pre-commit", File, Short::Free),
        ("npm/x/config", File, Short::Free),
    ] {
        assert_eq!(named(&judge, &format!("{CACHE}/{path}"), naming), wanted, "{path} {naming:?}");
    }
    let [made, moved] = ["made", "cargo/git/db/moved"].map(|name| format!("{CACHE}/{name}"));
    assert!(judge.must_search(made.as_ref(), moved.as_ref()));
    for (from, to, wanted) in [
        ("cargo/git", "cargo/g2", true),
        ("cargo", "other", true),
        ("d", "go-mod/cache", true),
        ("xdg", "y", true),
        ("cargo/registry", "cargo/r2", false),
        ("npm/a", "npm/b", false),
    ] {
        let [from, to_path] = [from, to].map(|name| format!("{CACHE}/{name}"));
        assert_eq!(judge.must_search(from.as_ref(), to_path.as_ref()), wanted, "{from} {to}");
    }
    assert!(judge.is_git_directory(moved.as_ref()) && !judge.is_git_directory(made.as_ref()));
}

#[test]
fn inside_git_directories() {
    let judge = judge_with(Flags::default(), &tree());
    let config = || Short::If(Check::GitConfig);
    for (path, naming, wanted) in [
        (".git/hooks", Directory, Short::Free),
        (".git/hooks", MovedDirectory, Short::No),
        (".git/hooks", Symlink, Short::No),
        (".git/hooks/pre-commit", File, Short::No),
        (".git/hooks/pre-commit", Moved, Short::No),
        (".git/hooks/pre-commit.sample", File, Short::Free),
        (".git/hooks/pre-commit.sample", Moved, Short::Free),
        (".git/hooks/pre-commit.sample", Symlink, Short::No),
        (".git/hooks/pre-commit.sample", Directory, Short::No),
        (".git/hooks/x/y.sample", File, Short::No),
        (".git/config", File, config()),
        (".git/config", Moved, config()),
        (".git/config", Symlink, Short::No),
        (".git/config", Directory, Short::No),
        (".git/config", Special, Short::No),
        (".git/config.lock", File, Short::Free),
        (".git/hooks/.pre-commit.sample.XyZ123", File, Short::Free),
        (".git/worktrees/w/HEAD", File, Short::Free),
        (".git/worktrees/w/refs", Directory, Short::If(Check::BareRepository)),
        (".git/worktrees/w/objects", Directory, Short::No),
        (".git/worktrees/w/config", File, Short::No),
        (".git/worktrees/w/hooks", Directory, Short::No),
        (".git/worktrees/w/hooks/post-receive", Moved, Short::No),
        (".git/modules/q/worktrees/z/objects", Directory, Short::No),
        (".git/modules/q/worktrees/z/config", Moved, Short::No),
        (".git/config.worktree", Moved, config()),
        (".git/commondir", File, Short::No),
        (".git/info/attributes", File, Short::No),
        (".git/info/exclude", File, Short::Free),
        (".git/info", Symlink, Short::No),
        (".git/info", Directory, Short::Free),
        // Git opens whatever has the name, and waits for somebody at the other end.
        (".git/info/exclude", Special, Short::No),
        (".git/modules", Special, Short::No),
        (".git/objects/aa/x", Special, Short::No),
        (".git/worktrees/w/index", Special, Short::No),
        (".git/hooks/x.sample", Special, Short::No),
        ("src/pipe", Special, Short::Free),
        // Git's own trial of whether there are links.
        (".git/tAbCdEf", SymlinkBeside, Short::Free),
        (".git/__file_link123", SymlinkBeside, Short::Free),
        (".git/_git2_5ba240ffece435a4", SymlinkBeside, Short::Free),
        (".git/_git2_5ba240ffece435a4", Symlink, Short::No),
        (".git/_git2_x.y", SymlinkBeside, Short::No),
        (".git/tAbCdEf", Symlink, Short::No),
        (".git/tAbCd.f", SymlinkBeside, Short::No),
        (".git/COMMIT_EDITMSG", Symlink, Short::No),
        (".git/COMMIT_EDITMSG", SymlinkBeside, Short::No),
        (".git/logs", Symlink, Short::No),
        (".git/logs/HEAD", Symlink, Short::No),
        (".git/logs/tAbCdEf", SymlinkBeside, Short::No),
        (".git/FETCH_HEAD", Symlink, Short::No),
        (".git/HEAD", Symlink, Short::No),
        (".git/index", Symlink, Short::No),
        (".git/objects/info/alternates", Symlink, Short::No),
        (".git/worktrees/w/index", Symlink, Short::No),
        (".git/worktrees/w/logs/HEAD", SymlinkBeside, Short::No),
        (".git/modules/a/logs", Symlink, Short::No),
        (".git/index.lock", File, Short::Free),
        (".git/objects/aa/config", File, Short::Free),
        (".git/refs/heads/hooks", File, Short::Free),
        (".git/HEAD", File, Short::Free),
        (".git/objects", Directory, Short::Free),
        (".git/refs", Directory, Short::Free),
        (".git/worktrees/w/commondir", File, Short::If(Check::WorktreeCommonDir)),
        (".git/worktrees/w/commondir", Symlink, Short::No),
        (".git/worktrees/w/gitdir", File, Short::If(Check::WorktreePointer)),
        (".git/worktrees/w/gitdir", Moved, Short::If(Check::WorktreePointer)),
        (".git/worktrees/w/config.worktree", File, config()),
        (".git/worktrees/w/HEAD", File, Short::Free),
        (".git/worktrees/w/index", File, Short::If(Check::GitIndex)),
        (".git/index", Moved, Short::If(Check::GitIndex)),
        (".git/sharedindex.1234", Moved, Short::If(Check::GitIndex)),
        (".git/modules/a/b/index", Moved, Short::If(Check::GitIndex)),
        (".git/rr-cache", Directory, Short::No),
        (".git/rr-cache/a/postimage", File, Short::No),
        (".git/MERGE_RR.lock", File, Short::No),
        (".git/worktrees/w/MERGE_RR.lock", File, Short::No),
        (".git/modules/a/rr-cache", Directory, Short::No),
        (".git/MERGE_RR", Moved, Short::If(Check::GitState)),
        (".git/worktrees/w/MERGE_RR", Moved, Short::If(Check::GitState)),
        (".git/BISECT_START", File, Short::If(Check::GitState)),
        (".git/reftable/tables.list", Moved, Short::If(Check::GitState)),
        (".git/modules/a/reftable/tables.list", Moved, Short::If(Check::GitState)),
        (".git/reftable/0x1-0x1-a.ref", Moved, Short::Free),
        (".git/modules/index", Directory, Short::Free),
        (".git/modules/a/refs/heads/index", Moved, Short::Free),
        (".git/refs/heads/index", Moved, Short::Free),
        (".git/worktrees/w", Symlink, Short::No),
        (".git/modules", Symlink, Short::No),
        (".git/modules/a/b", Symlink, Short::No),
        (".git/modules/a/b", SymlinkBeside, Short::No),
        (".git/modules/a/tAbCdEf", SymlinkBeside, Short::Free),
        (".git/modules/a/hooks", SymlinkBeside, Short::No),
        (".git/remotes/origin", File, Short::No),
        (".git/branches", Directory, Short::Free),
        (".git/branches/x", File, Short::No),
        (".git/modules/a/b/refs/remotes/origin", Directory, Short::Free),
        (".git/modules/a/b/remotes/origin", File, Short::No),
        (".git/modules/a/b", Directory, Short::Free),
        (".git/modules/a/b/hooks", Directory, Short::Free),
        (".git/modules/a/b/hooks/x", File, Short::No),
        (".git/modules/a/b/hooks/x.sample", File, Short::Free),
        (".git/modules/a/b/config", File, config()),
        (".git/modules/a/b/config.worktree", Moved, config()),
        (".git/modules/a/b/commondir", File, Short::No),
        (".git/modules/a/b/info/attributes", File, Short::No),
        (".git/modules/a/b/worktrees/w/gitdir", File, Short::If(Check::WorktreePointer)),
        (".git/modules/a/b/worktrees/w/commondir", File, Short::If(Check::WorktreeCommonDir)),
        (".git/modules/a/HEAD", File, Short::Free),
        (".git/modules/a/objects", Directory, Short::Free),
    ] {
        for root in ["/ws", "/ws/deep/er"] {
            assert_eq!(named(&judge, &format!("{root}/{path}"), naming), wanted, "{root}/{path} {naming:?}");
        }
    }
}

#[test]
fn a_bare_repository_of_the_start_is_a_git_directory() {
    let judge = judge_with(Flags::default(), &tree());
    assert_eq!(named(&judge, "/ws/bare/hooks/x", File), Short::No);
    assert_eq!(named(&judge, "/ws/bare/config", Moved), Short::If(Check::GitConfig));
    assert_eq!(named(&judge, "/ws/bare/HEAD", Moved), Short::Free);
    assert_eq!(named(&judge, "/ws/other/config", File), Short::Free);
    for (path, recognised) in [
        ("/ws/.git", true),
        ("/ws/bare", true),
        ("/ws/new/.git", true),
        ("/ws/.git/modules/a/b", true),
        ("/ws/.git/modules", false),
        ("/ws/.git/objects", false),
        ("/ws/other", false),
        ("/tmp/.git", false),
    ] {
        assert_eq!(judge.is_git_directory(path.as_ref()), recognised, "{path}");
    }
}

#[test]
fn the_name_git() {
    let judge = judge_with(Flags::default(), &tree());
    for path in ["/ws/.git", "/ws/a/.git", "/ws/.git/x/.git"] {
        for (naming, wanted) in [
            (Directory, Short::Free),
            (File, Short::If(Check::GitPointer)),
            (Symlink, Short::No),
            (Special, Short::No),
            (MovedDirectory, Short::No),
            (Moved, Short::No),
        ] {
            assert_eq!(named(&judge, path, naming), wanted, "{path} {naming:?}");
        }
    }
    assert_eq!(named(&judge, "/tmp/.git", Symlink), Short::Free);
}

#[test]
fn what_makes_a_bare_repository() {
    let judge = judge_with(Flags::default(), &tree());
    for name in ["HEAD", "objects", "refs"] {
        for path in ["/ws", "/ws/a", "/ws/.git/a", "/ws/.git/refs/remotes/origin"] {
            for naming in [File, Directory, MovedDirectory, Moved, Symlink] {
                let refused = naming == Symlink && path.contains(".git");
                let wanted = if refused { Short::No } else { Short::If(Check::BareRepository) };
                let path = format!("{path}/{name}");
                assert_eq!(named(&judge, &path, naming), wanted, "{path}");
            }
        }
    }
    assert_eq!(named(&judge, "/ws/a/commondir", File), Short::No);
    assert_eq!(named(&judge, "/tmp/a/HEAD", File), Short::Free);
    assert_eq!(short(judge.change("/ws/a/HEAD".as_ref())), Short::Free);
}

#[test]
fn changes_in_git_directories() {
    let judge = judge_with(Flags::default(), &tree());
    for (path, wanted) in [
        ("/ws/.git/config", Short::If(Check::GitConfig)),
        ("/ws/.git/modules/a/config", Short::If(Check::GitConfig)),
        ("/ws/.git/worktrees/w/gitdir", Short::If(Check::WorktreePointer)),
        ("/ws/.git/worktrees/w/commondir", Short::If(Check::WorktreeCommonDir)),
        ("/ws/.git/hooks/pre-commit", Short::No),
        ("/ws/.git/hooks/pre-commit.sample", Short::Free),
        ("/ws/.git/hooks", Short::Free),
        ("/ws/.git/commondir", Short::No),
        ("/ws/.git/index", Short::If(Check::GitIndex)),
        ("/ws/.git", Short::If(Check::GitPointer)),
    ] {
        assert_eq!(short(judge.change(path.as_ref())), wanted, "{path}");
    }
}

#[test]
fn settings_behind_a_link_are_checked_where_they_are() {
    let tree = tree().file("/ws/shared.cfg").file("/ws/.git/HEAD").link("/ws/.git/config", "../shared.cfg");
    let judge = judge_with(Flags::default(), &tree);
    assert_eq!(short(judge.change("/ws/shared.cfg".as_ref())), Short::If(Check::GitConfig));
    assert_eq!(named(&judge, "/ws/shared.cfg", Moved), Short::If(Check::GitConfig));
}

const SRT: &str = r#"{"network": {"allowedDomains": [], "deniedDomains": []},
    "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": [], "allowGitConfig": ALLOW}}"#;

#[test]
fn srt_keeps_git_settings_as_they_are() {
    let judge = |allow: &str| {
        let policy = load(&tree(), Layer::User, Shape::Srt, &SRT.replace("ALLOW", allow)).unwrap();
        Judge::new(&policy.plan(&request(), &tree()).unwrap())
    };
    let strict = judge("false");
    for path in ["/ws/a/.git/config", "/ws/a/.git/config.worktree", "/ws/a/.git/hooks/x"] {
        assert_eq!(named(&strict, path, File), Short::No, "{path}");
    }
    assert_eq!(named(&strict, "/ws/a/.git/hooks/x.sample", File), Short::Free);
    assert_eq!(short(strict.change("/ws/a/.git/config".as_ref())), Short::No);
    let loose = judge("true");
    assert_eq!(named(&loose, "/ws/a/.git/config", File), Short::Free);
    assert_eq!(named(&loose, "/ws/a/.git/config.worktree", File), Short::No);
    assert_eq!(named(&loose, "/ws/a/.git/hooks/x", File), Short::No);
}

#[test]
fn protection_of_git_can_be_switched_off() {
    let text = r#"{"filesystem": {"protection": {"git": "off"}}}"#;
    let policy = load(&tree(), Layer::User, Shape::Native, text).unwrap();
    let judge = Judge::new(&policy.plan(&request(), &tree()).unwrap());
    for path in ["/ws/.git/hooks/x", "/ws/.git/config", "/ws/a/HEAD", "/ws/a/commondir", "/ws/a/.git"] {
        assert_eq!(named(&judge, path, File), Short::Free, "{path}");
    }
}
